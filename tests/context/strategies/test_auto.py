"""auto: with a cold cache, what is unlikely to be needed goes; with a warm one, only if it pays clearly."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from prunecli.context.economics import Market
from prunecli.context.impact import impact
from prunecli.context.strategies.auto import LOSING, Options, propose
from prunecli.context.strategy import Proposal
from prunecli.context.view import View
from prunecli.model.events import AssistantMessage, PrunApplied, RequestSent
from prunecli.model.messages import Text, Usage
from prunecli.providers.models import load_expectations
from prunecli.util.paths import PACKAGE
from tests.context.expecting import numbers
from tests.context.talk import Talk, seqs, tokens

TTL = 300_000
NOW = 1_700_000_000_000
COLD = Market(now=NOW + 2 * TTL, ttl_ms=TTL, model="m", read=0.1, write=1.25, output=5.0)
WARM = COLD._replace(now=NOW + 100_000)


def talk_of(*sizes: int, answers: int = 2) -> tuple[Talk, list[int]]:
    """Reads of so many tokens, and answers after them."""
    talk = Talk()
    talk.user()
    found = [talk.step("read", tokens(size), path=f"{index}.py") for index, size in enumerate(sizes)]
    for _ in range(answers):
        used(talk)
        talk.user()
    return talk, found


def used(talk: Talk) -> None:
    """A request, and an answer that reports its size."""
    talk.add(RequestSent("m", 0, "00"))
    usage = Usage(0, 1, 0, talk.context.counts.context_tokens)
    talk.add(AssistantMessage((Text("ok"),), "m", "end_turn", usage))


def asked(
    talk: Talk, market: Market = COLD, quoted: float = 0.1, margin: float = inf, **more: object
) -> Proposal:
    expectations = numbers(quoted, warm_margin=(margin, margin))
    view = View(talk.context, 200_000, market=market, expectations=expectations)
    return propose(replace(view, **more), Options())  # type: ignore[arg-type]


def test_a_warm_cache_is_edited_from_where_it_pays() -> None:
    """What stands before a long text would cost more to break than all results gain."""
    talk = Talk()
    talk.user()
    early = talk.step("read", tokens(1_000), path="early.py")
    talk.user(tokens(30_000))
    late = talk.step("read", tokens(8_000), path="late.py")
    for _ in range(8):
        used(talk)
        talk.user()
    assert seqs(asked(talk, WARM, margin=2)) == [late]
    assert seqs(asked(talk)) == [early, late], "a cold cache loses both"


def test_a_cold_cache_loses_what_is_unlikely_to_be_needed() -> None:
    talk, reads = talk_of(1_000, 800)
    proposal = asked(talk)
    assert seqs(proposal) == reads
    assert proposal.note == "unlikely to be needed again"
    assert proposal.edits[0].text == '[output pruned — ~1,000 tokens | read path="0.py"]'
    assert seqs(asked(talk, quoted=0.9)) == []
    assert asked(talk, quoted=0.9).note == "no result is worth clearing"


def test_a_warm_cache_is_left_alone_and_the_note_says_until_when() -> None:
    talk, (first, _) = talk_of(1_000, 800)
    proposal = asked(talk, WARM)
    assert proposal.edits == ()
    waits = "waits until the cache is cold or pruning pays: warm for 3m20s"
    assert proposal.note == f"{waits}; then 2 results, ~1.8K tokens"
    assert (proposal.waiting, proposal.freed) == ("cache warm for 3m20s", 1_775)
    assert proposal.why(talk.entry(first)) == waits
    assert asked(talk, WARM, quoted=0.9).waiting == ""


def test_a_warm_cache_is_broken_at_a_prompt_if_the_gain_is_a_multiple_of_the_cost() -> None:
    """41 more requests read what was saved at 0.1. A fetch costs a request, and the text as in a cold cache."""
    talk, reads = talk_of(4_000, 3_000, answers=40)
    requests, context = talk.context.requests, talk.context.counts.context_tokens
    edits = asked(talk, WARM, quoted=0.01, forced=True).edits
    planned = PrunApplied("strategy", edits)
    change = impact(talk.context, [planned], WARM).change
    assert change is not None
    assert change.cost is not None
    read = 0.1 * requests
    risks = [0.01 * (0.1 * context + 150 * 5 + edit.tokens_before * (1.25 + read)) for edit in edits]
    gain = sum(edit.tokens_saved * read - risk for edit, risk in zip(edits, risks, strict=True)) / 1e6
    margin = gain / change.cost
    assert margin > 3
    assert seqs(asked(talk, WARM, quoted=0.01, margin=0.999 * margin)) == reads
    assert asked(talk, WARM, quoted=0.01, margin=1.001 * margin).edits == ()
    assert asked(talk, WARM._replace(read=None), quoted=0.01, margin=2).edits == (), "no known prices"
    assert asked(talk, WARM, quoted=0.01, margin=2, brief=True).edits == edits
    losing = asked(talk, WARM, quoted=0.01, margin=2, losing=lambda: True)
    assert (losing.edits, losing.problem) == ((), LOSING)
    talk.step("read", tokens(50), path="more.py")
    assert asked(talk, WARM, quoted=0.01, margin=2).edits == (), "inside a tool round it waits"


def test_a_prune_frees_a_minimum_unless_the_user_asks_for_it() -> None:
    talk, reads = talk_of(1_000, 800)
    freed = sum(edit.tokens_saved for edit in asked(talk).edits)
    view = View(talk.context, 200_000, market=COLD, expectations=numbers(min_batch=freed))
    assert seqs(propose(view, Options())) == reads
    more = replace(view, expectations=numbers(min_batch=freed + 1))
    assert propose(more, Options()).note == "no result is worth clearing"
    assert seqs(propose(replace(more, forced=True), Options())) == reads


def test_the_model_that_changed_has_nothing_cached() -> None:
    talk, reads = talk_of(1_000)
    assert seqs(asked(talk, WARM._replace(model="other"))) == reads


def test_without_a_clock_it_does_not_wait() -> None:
    talk, reads = talk_of(1_000)
    assert seqs(asked(talk, Market())) == reads


def test_by_hand_it_clears_what_is_worth_it_though_the_cache_is_warm() -> None:
    talk, reads = talk_of(1_000, 800)
    assert seqs(asked(talk, WARM, forced=True)) == reads
    assert seqs(asked(talk, WARM, quoted=0.9, forced=True)) == []


@pytest.mark.parametrize(
    ("saved", "quoted", "goes"),
    [(1_000, 0.5, True), (1_000, 0.65, False), (100, 0.1, True), (100, 0.12, False)],
)
def test_the_gain_is_weighed_against_the_price_of_fetching_it_again(
    saved: int, quoted: float, goes: bool
) -> None:
    """5 more requests: 1.25 + 5 * 0.1 for each token, against 0.1 for each token of the context and 150 * 5."""
    talk, (first, _) = talk_of(saved, 4_000)
    context = talk.context.counts.context_tokens
    edit = next(one for one in asked(talk, quoted=0.0).edits if one.seq == first)
    carried = 1.25 + 0.1 * 5
    gain, risk = edit.tokens_saved * carried, quoted * (0.1 * context + 150 * 5 + saved * carried)
    assert (gain > risk) is goes
    assert (first in seqs(asked(talk, quoted=quoted))) is goes


def test_more_requests_to_come_make_more_worth_it() -> None:
    short, (_, small) = talk_of(4_000, 150)
    assert small not in seqs(asked(short, quoted=0.2))
    long, (_, small) = talk_of(4_000, 150, answers=40)
    assert small in seqs(asked(long, quoted=0.2))


def test_what_is_small_new_pinned_or_in_progress_stays() -> None:
    talk, (old, tiny, pinned) = talk_of(1_000, 5, 1_000, answers=1)
    new = talk.step("read", tokens(1_000), path="new.py")
    talk.pin(pinned)
    proposal = asked(talk, quoted=0.0)
    assert seqs(proposal) == [old]
    assert proposal.why(talk.entry(tiny)) == "under 10 tokens"
    assert proposal.why(talk.entry(new)) == "new: the model is still working with it"
    kept = asked(talk, quoted=0.9)
    assert kept.why(talk.entry(old)) == "likely enough to be needed again"


def test_what_a_later_result_replaces_goes_whatever_it_is_otherwise() -> None:
    talk = Talk()
    talk.user()
    first = talk.step("read", tokens(1_000), path="a.py")
    second = talk.step("read", tokens(1_000), path="a.py")
    used(talk)
    used(talk)
    assert seqs(asked(talk, quoted=0.9)) == [first]
    assert seqs(asked(talk, quoted=0.0)) == [first, second]


def test_its_batch_is_made_once_while_the_cache_is_cold() -> None:
    """After it, a fetch costs less in the smaller context, so that more would seem worth it."""
    talk, _ = talk_of(100, 20_000)
    proposal = asked(talk, quoted=0.1)
    assert len(proposal.edits) == 1
    talk.apply(proposal, "auto")
    again = asked(talk, quoted=0.1)
    assert again.edits == ()
    assert again.note == "everything worth clearing is cleared"
    used(talk)
    assert asked(talk, COLD._replace(now=NOW + 4 * TTL), quoted=0.1).edits


def test_near_the_limit_it_proposes_at_a_prompt_and_leaves_the_price_to_the_gate() -> None:
    talk, reads = talk_of(1_000, 800)
    near = WARM._replace(limit=2_000)
    assert seqs(asked(talk, near)) == reads
    talk.step("read", tokens(50), path="more.py")
    assert asked(talk, near).edits == (), "inside a tool round it waits"


def test_where_pruning_lost_money_it_waits_for_a_cold_cache_and_says_so() -> None:
    talk, reads = talk_of(1_000, 800)
    near = WARM._replace(limit=2_000)
    proposal = asked(talk, near, losing=lambda: True)
    assert (proposal.edits, proposal.problem) == ((), LOSING)
    assert asked(talk, WARM, losing=lambda: True).problem == "", "it would have waited anyway"
    assert seqs(asked(talk, COLD, losing=lambda: True)) == reads
    assert seqs(asked(talk, WARM, losing=lambda: True, forced=True)) == reads, "/prune is the user's"


def test_without_expectations_it_proposes_nothing() -> None:
    talk, _ = talk_of(1_000)
    proposal = propose(View(talk.context, 200_000), Options())
    assert (proposal.edits, proposal.note) == ((), "the expectations were not loaded")


def test_without_prices_those_usual_for_claude_decide() -> None:
    talk, reads = talk_of(1_000)
    unknown = COLD._replace(read=None, write=None, output=None)
    assert seqs(asked(talk, unknown, quoted=0.3)) == reads == seqs(asked(talk, COLD, quoted=0.3))
    assert unknown.rates_for(1) == (0.1, 1.25, 5.0)
    assert unknown._replace(ttl_ms=3_600_000).rates_for(1) == (0.1, 2.0, 5.0)


def test_kinds_are_told_apart() -> None:
    talk = Talk()
    talk.user()
    texts = {name: tokens(1_000) for name in ("read", "cat", "test", "other")}
    read = talk.step("read", texts["read"], path="a.py", offset=3)
    cat = talk.step("bash", texts["cat"], command="cat b.py")
    test = talk.step("bash", texts["test"], command="make test")
    other = talk.step("mcp", texts["other"])
    used(talk)
    used(talk)
    rows = {"read": (0.9,), "bash": (0.01,), "other": (0.01,)}
    view = View(talk.context, 200_000, market=COLD, expectations=numbers(quoted=0.0))
    found = propose(replace(view, expectations=replace(numbers(), quoted=rows)), Options())  # type: ignore[arg-type]
    assert read not in seqs(found)
    assert cat not in seqs(found), "a command that only prints files shows what a read shows"
    assert seqs(found) == [test, other]


def test_the_shipped_expectations_clear_an_old_result_and_keep_a_small_one() -> None:
    talk, (large, small) = talk_of(6_000, 230, answers=6)
    shipped = load_expectations(Path(PACKAGE / "data"))
    view = View(talk.context, 200_000, market=COLD, expectations=shipped)
    assert seqs(propose(view, Options())) == [large]
    assert small not in seqs(propose(view, Options()))
