"""Old thinking leaves once, with a cold batch, from the start on, and stays out if newer thinking is bound to it."""

import pytest

from prunecli.agent.policy import Policy
from prunecli.context.economics import Market
from prunecli.context.redo import undoable
from prunecli.context.strategies import auto
from prunecli.context.strategy import Chosen
from prunecli.model.events import Pinned, PrunApplied, UserMessage
from prunecli.model.messages import Text
from tests.context.expecting import numbers
from tests.context.thinking import OPUS, Talk

COLD = Market(now=10**9, ttl_ms=300_000, model=OPUS, read=0.2, write=5.0, output=20.0)
POLICY = Policy(
    (Chosen("auto", auto, auto.Options()),),
    gate="cache_aware",
    market=COLD,
    expectations=numbers(0.1, min_tokens=50),
    binds=True,
)
KEEPING = POLICY._replace(expectations=numbers(1.0, min_tokens=50))
"""No result is worth clearing."""


def asked(turns: int, steps: int = 2) -> Talk:
    """A session of some prompts, each with steps that think, and one more prompt."""
    talk = Talk(steps)
    for turn in range(turns):
        talk.emit(UserMessage((Text(f"go on {turn}"),)))
        for _ in range(steps if turn < turns - 1 else 0):
            talk.step()
    return talk


def kinds(events: list[PrunApplied]) -> list[set[str]]:
    return [{edit.kind for edit in event.edits} for event in events]


def test_the_thinking_before_the_newest_two_prompts_leaves_with_a_cold_batch() -> None:
    talk = asked(3)
    events = POLICY.prunes(talk.context)
    assert kinds(events) == [{"strip"}, {"clear"}]
    turns = talk.context.user_turns
    answers = [one.seq for one in talk.context.exchanges if one.seq < turns[-2]]
    assert [edit.seq for edit in events[0].edits] == answers
    assert events[0].reason.startswith(
        "old thinking is no longer sent: 4 thinking blocks (~120 tokens); cache cold"
    )
    assert events[0].tokens_removed == 120
    assert "thinking" not in events[1].reason or "2 thinking blocks" in events[1].reason, "not told twice"


def test_it_leaves_at_most_once_while_the_cache_is_warm() -> None:
    talk = asked(4)
    for event in KEEPING.prunes(talk.context):
        talk.emit(event)
    assert KEEPING.prunes(talk.context) == []
    talk.step()
    talk.emit(UserMessage((Text("more"),)))
    assert KEEPING.at(talk.records[-1].timestamp + 1).prunes(talk.context) == []
    assert kinds(KEEPING.prunes(talk.context)) == [{"strip"}], "the next cold moment is another"


def test_it_leaves_alone_if_no_result_is_worth_clearing_and_only_if_it_is_enough() -> None:
    talk = asked(3)
    assert kinds(KEEPING.prunes(talk.context)) == [{"strip"}]
    least = numbers(1.0, min_tokens=50, min_batch=121)
    assert KEEPING._replace(expectations=least).prunes(talk.context) == []


def test_a_pinned_answer_keeps_its_thinking_and_all_that_follows() -> None:
    talk = asked(3)
    second = talk.context.exchanges[1]
    talk.emit(Pinned((second.seq,)))
    strips = POLICY.prunes(talk.context)[0]
    assert [edit.seq for edit in strips.edits] == [talk.context.exchanges[0].seq]


@pytest.mark.parametrize(("model", "comes_back"), [(OPUS, False), ("claude-opus-4-6", True)])
def test_an_undo_brings_it_back_only_where_no_newer_thinking_is_bound(
    model: str, *, comes_back: bool
) -> None:
    talk = asked(3)
    talk.use(model)
    events = POLICY._replace(market=COLD._replace(model=model)).prunes(talk.context)
    for event in events:
        talk.emit(event)
    live = [record.event for record in undoable(talk.context)]
    assert (events[0] in live) == comes_back
    assert live[-1] == events[-1], "the results come back first"
