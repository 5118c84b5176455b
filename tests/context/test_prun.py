"""Plans of pruns at the edge: where what could go has to stay."""

import pytest

from prunecli.context.prun import entry_ranges, plan_prun
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.context.view import View
from prunecli.model.events import AssistantMessage, Record, ToolResult, UserMessage
from prunecli.model.messages import Text, Thinking, ToolUse
from tests.context.talk import Talk, talk_of


@pytest.mark.parametrize("memo", [None, "what was learned"])
def test_the_thinking_that_begins_the_open_loop_stays_and_nothing_is_pruned(memo: str | None) -> None:
    """Without it the request would be refused; it is the only exchange that could go."""
    events = [
        UserMessage((Text("go"),)),
        AssistantMessage((Thinking("hm", "sig"), ToolUse("t1", "read", {"path": "a.py"})), "m", "tool_use"),
        ToolResult("t1", "read", (Text("line\n" * 80),)),
        AssistantMessage((ToolUse("t2", "read", {"path": "b.py"}),), "m", "tool_use"),
        ToolResult("t2", "read", (Text("line\n" * 80),)),
    ]
    context = Context(Chars4())
    for seq, event in enumerate(events):
        context.apply(Record(seq, 1_000 + seq, event))
    plan = plan_prun(View(context, 600), 30, memo)
    assert plan.exchanges == ()
    assert plan.message.startswith("Nothing to prune")


def named(ranges: str) -> set[int]:
    """The seqs that a memo's entries name."""
    runs = [[int(seq) for seq in run.split("-")] for run in ranges.split(",")]
    return {seq for run in runs for seq in range(run[0], run[-1] + 1)}


def test_a_memo_names_no_entry_that_an_earlier_prune_removed() -> None:
    talk, found = talk_of(*[50] * 4)
    talk.edit("drop", talk.entry(found[1]).exchange.seq)  # type: ignore[union-attr]
    view = talk.view()
    chosen = [view.exchanges[0], view.exchanges[1]]
    replaced = {entry.seq for exchange in chosen for entry in exchange.entries}
    ranges = entry_ranges(view, chosen)
    assert "," in ranges
    assert named(ranges) & set(talk.context.entries) == replaced


def test_a_memo_names_no_word_of_the_user_between_a_call_and_its_result() -> None:
    talk = Talk()
    talk.user()
    talk.call(("read", {"path": "a"}), ("read", {"path": "b"}))
    said = talk.user("stop after the first")
    context = talk.context
    exchange = next(entry.exchange for entry in context.entries.values() if entry.exchange)
    for call in exchange.calls:
        talk.add(ToolResult(call.id, "read", (Text("line"),)))
    assert said not in named(entry_ranges(talk.view(), [exchange]))
