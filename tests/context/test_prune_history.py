"""What is known of each prune: its size, its price at the cache, and what it made the model fetch again."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.context.again import shown_again
from prunecli.context.prune_history import PruneStats
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    Spilled,
    ToolResult,
    UserMessage,
    is_edit,
)
from prunecli.model.messages import Text, Usage
from prunecli.model.touches import Touches
from tests.context.talk import Talk, tokens
from tests.laws.logs import sessions
from tests.session.points import folded

TTL = 300_000


def price(model: str, usage: Usage) -> float:
    """A dollar for each token written, a tenth for each one read."""
    return (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0) / 10


def respond(talk: Talk, read: int | None, written: int | None, fresh: int = 0, model: str = "m") -> None:
    """A request, and an answer that reports what it took."""
    talk.add(RequestSent(model, 0, "00"))
    talk.add(AssistantMessage((Text("ok"),), model, "end_turn", Usage(fresh, 1, read, written)))


def warm(*texts: str) -> tuple[Talk, list[int]]:
    """Reads that the endpoint has in its cache, and their seqs: 2,000 tokens of prompt in all."""
    talk = Talk()
    talk.user()
    seqs = [talk.step("read", text, path=f"{n}.py") for n, text in enumerate(texts)]
    talk.add(RequestSent("m", 0, "00"))
    talk.add(AssistantMessage((Text("ok"),), "m", "end_turn", Usage(0, 1, 0, 2_000)))
    return talk, seqs


def row(talk: Talk, seq: int) -> PruneStats:
    return talk.context.prune_history.rows[seq]


def test_a_prune_stands_there_with_the_size_of_the_request_before_and_after_it() -> None:
    talk, (first, _) = warm(tokens(500), tokens(500))
    before = talk.context.counts.context_tokens
    prun = talk.edit("clear", first, "[gone]", "pi")
    tracked = row(talk, prun)
    assert (tracked.tokens_before, tracked.tokens_after) == (before, talk.context.counts.context_tokens)
    assert tracked.tokens_after < tracked.tokens_before
    assert (tracked.source, tracked.strategy, tracked.undone) == ("strategy", "pi", False)
    assert 0 < tracked.share < 1


def test_what_stands_behind_the_first_edit_is_estimated_as_written_again() -> None:
    talk, (first, last) = warm(tokens(500), tokens(500))
    early = row(talk, talk.edit("clear", first, "[gone]")).cache_cost(price, TTL)
    other, (_, last) = warm(tokens(500), tokens(500))
    late = row(other, other.edit("clear", last, "[gone]")).cache_cost(price, TTL)
    assert early[0] > 450
    assert late[0] < 200
    assert early[1] == pytest.approx(early[0] * 0.9)


def test_the_next_request_measures_what_was_written_again() -> None:
    talk, (first, _) = warm(tokens(500), tokens(500))
    prun = talk.edit("clear", first, "[gone]")
    gone = row(talk, prun).tokens_before - row(talk, prun).tokens_after
    assert not row(talk, prun).measured
    respond(talk, read=1_200, written=2_000 - gone - 1_200)
    assert row(talk, prun).measured
    assert row(talk, prun).cache_cost(price, TTL)[0] == 2_000 - gone - 1_200


def test_a_prune_that_is_undone_before_a_request_costs_nothing_and_its_redo_does() -> None:
    talk, (first, _) = warm(tokens(500), tokens(500))
    prun = talk.edit("clear", first, "[gone]")
    undo = talk.add(PrunReverted((prun,)))
    again = talk.edit("clear", first, "[gone]")
    gone = row(talk, again).tokens_before - row(talk, again).tokens_after
    estimated = row(talk, again).rewritten
    respond(talk, read=1_200, written=2_000 - gone - 1_200)
    assert estimated > 450
    assert [row(talk, seq).cache_cost(price, TTL)[0] for seq in (prun, undo, again)] == [
        0,
        0,
        2_000 - gone - 1_200,
    ]


def test_an_attempt_without_an_answer_measures_what_it_wrote_again() -> None:
    talk, (first, _) = warm(tokens(500), tokens(500))
    prun = talk.edit("clear", first, "[gone]")
    gone = row(talk, prun).tokens_before - row(talk, prun).tokens_after
    talk.add(RequestSent("m", 0, "00"))
    talk.add(AttemptBilled("m", Usage(0, 1, 1_200, 2_000 - gone - 1_200)))
    talk.add(AssistantMessage((Text("ok"),), "m", "end_turn", Usage(0, 1, 2_000 - gone, 0)))
    assert row(talk, prun).cache_cost(price, TTL)[0] == 2_000 - gone - 1_200


def test_what_the_cache_gave_back_cost_nothing() -> None:
    talk, (_, last) = warm(tokens(500), tokens(500))
    prun = talk.edit("clear", last, "[gone]")
    gone = row(talk, prun).tokens_before - row(talk, prun).tokens_after
    respond(talk, read=2_000 - gone, written=50)
    assert row(talk, prun).measured
    assert row(talk, prun).cache_cost(price, TTL) == (0, 0.0)


def test_two_prunes_before_one_request_share_its_break() -> None:
    talk, (first, last) = warm(tokens(500), tokens(500))
    pruns = [talk.edit("clear", last, "[gone]"), talk.edit("clear", first, "[gone]")]
    respond(talk, read=1_000, written=900)
    rows = [row(talk, prun) for prun in pruns]
    gone = sum(one.tokens_before - one.tokens_after for one in rows)
    assert sum(one.rewritten for one in rows) == min(2_000 - gone, 1_900) - 1_000


def test_a_cold_cache_costs_nothing() -> None:
    talk, (first, _) = warm(tokens(500), tokens(500))
    prun = talk.edit("clear", first, "[gone]")
    record = Record(talk.seq, 1_700_000_000_000 + TTL * 2, RequestSent("m", 0, "00"))
    talk.context.apply(record)
    talk.seq += 1
    assert row(talk, prun).cache_cost(price, TTL) == (0, 0.0)


def test_another_model_has_nothing_cached() -> None:
    talk, (first, _) = warm(tokens(500), tokens(500))
    prun = talk.edit("clear", first, "[gone]")
    respond(talk, read=0, written=1_500, model="other")
    assert row(talk, prun).cache_cost(price, TTL) == (0, 0.0)


def test_before_the_first_request_nothing_is_cached() -> None:
    talk = Talk()
    talk.user()
    first = talk.step("read", tokens(500), path="a")
    talk.seen()
    assert row(talk, talk.edit("clear", first, "[gone]")).cache_cost(price, TTL) == (0, 0.0)


def test_an_endpoint_that_reports_no_cache_has_no_cache_cost() -> None:
    talk, (first, _) = warm(tokens(500), tokens(500))
    prun = talk.edit("clear", first, "[gone]")
    respond(talk, read=None, written=None, fresh=1_500)
    assert row(talk, prun).cache_cost(price, TTL) == (0, 0.0)


def test_a_compaction_breaks_the_cache_itself() -> None:
    talk, (first, _) = warm(tokens(500), tokens(500))
    prun = talk.edit("clear", first, "[gone]")
    talk.compact(0, first + 1)
    respond(talk, read=0, written=1_000)
    assert row(talk, prun).cache_cost(price, TTL)[0] == 0


def test_an_undo_is_priced_like_a_prune() -> None:
    talk, (first, _) = warm(tokens(500), tokens(500))
    prun = talk.edit("clear", first, "[gone]")
    respond(talk, read=100, written=1_400)
    undo = talk.revert(prun)
    tracked = row(talk, undo)
    assert tracked.undone
    assert tracked.removed == tracked.tokens_before - tracked.tokens_after
    assert tracked.tokens_after > tracked.tokens_before
    assert tracked.cache_cost(price, TTL)[0] > 900


# Re-reads ------------------------------------------------------------------------------------------------------


def pruned(tool: str = "read", kind: Any = "clear", **given: Any) -> tuple[Talk, int, int]:
    """A result that a prune took, its seq and the prune's."""
    talk = Talk()
    talk.user()
    seq = talk.step(tool, tokens(100), **given)
    talk.seen()
    target = talk.exchange(seq).seq if kind == "drop" else seq
    return talk, seq, talk.edit(kind, target, None if kind == "drop" else "[gone]")


@pytest.mark.parametrize("kind", ["clear", "trim", "drop"])
def test_the_same_call_again_is_a_reread(kind: str) -> None:
    talk, _, prun = pruned("bash", kind, command="ls -l")
    again = talk.step("bash", tokens(100), command="ls -l")
    assert row(talk, prun).rereads == (again,)
    assert row(talk, prun).reread_tokens == 100


@pytest.mark.parametrize(
    ("first", "then", "meets"),
    [
        ({}, {}, True),
        ({}, {"offset": 1, "limit": 10}, True),
        ({"offset": 1, "limit": 20}, {"offset": 20, "limit": 5}, True),
        ({"offset": 1, "limit": 20}, {"offset": 21, "limit": 5}, False),
    ],
)
def test_a_read_of_the_same_lines_is_a_reread(
    first: dict[str, int], then: dict[str, int], meets: bool
) -> None:
    talk = Talk()
    talk.user()
    seq = talk.step("read", "line\n" * first.get("limit", 50), path="a.py", **first)
    talk.seen()
    prun = talk.edit("clear", seq, "[gone]")
    talk.step("read", "line\n" * then.get("limit", 50), path="./a.py", **then)
    assert bool(row(talk, prun).rereads) == meets


def test_a_recall_is_a_reread_of_a_result_and_of_an_answer() -> None:
    talk, seq, prun = pruned(kind="drop", path="a.py")
    talk.step("recall", "the words", entry=talk.exchange(seq).seq)
    talk.step("recall", "the result", entry=seq)
    assert len(row(talk, prun).rereads) == 2


@pytest.mark.parametrize("tool", ["edit", "write"])
def test_what_has_changed_since_is_not_read_again_but_anew(tool: str) -> None:
    talk, _, prun = pruned(path="a.py")
    talk.step(tool, "done", path="a.py")
    talk.step("read", tokens(100), path="a.py")
    assert row(talk, prun).rereads == ()


def test_a_change_of_another_file_makes_no_read_out_of_date() -> None:
    talk, _, prun = pruned(path="a.py")
    talk.step("edit", "done", path="b.py")
    talk.step("read", tokens(100), path="a.py")
    assert len(row(talk, prun).rereads) == 1


@pytest.mark.parametrize("error", [True, False])
def test_only_what_came_back_counts(error: bool) -> None:
    talk, _, prun = pruned(path="a.py")
    talk.step("read", tokens(100), path="a.py", error=error)
    assert len(row(talk, prun).rereads) == (0 if error else 1)


def test_each_result_is_fetched_again_once() -> None:
    talk, _, prun = pruned(path="a.py")
    first = talk.step("read", tokens(100), path="a.py")
    talk.step("read", tokens(100), path="a.py")
    assert row(talk, prun).rereads == (first,)
    talk.seen()
    second = talk.edit("clear", first, "[gone]")
    third = talk.step("read", tokens(100), path="a.py")
    assert row(talk, second).rereads == (third,)


def test_what_was_taken_back_is_not_missed() -> None:
    talk, _, prun = pruned(path="a.py")
    talk.revert(prun)
    talk.step("read", tokens(100), path="a.py")
    assert row(talk, prun).rereads == ()


def test_what_a_compaction_took_is_not_the_prunes_doing() -> None:
    talk, _, prun = pruned(path="a.py")
    talk.user()
    talk.compact(0, talk.seq - 1)
    talk.step("read", tokens(100), path="a.py")
    assert row(talk, prun).rereads == ()


# Laws ----------------------------------------------------------------------------------------------------------


def cached(records: list[Record], shares: list[float]) -> list[Record]:
    """The same log at an endpoint that reports a cache: each request gives back a share of its prompt."""
    log: list[Any] = []
    for record in records:
        event = record.event
        if isinstance(event, AssistantMessage):
            share = shares[len(log) % len(shares)]
            read = int(share * event.usage.input_tokens)
            usage = Usage(event.usage.input_tokens - read, 5, read, 0)
            log += [RequestSent("m", 0, "00"), replace(event, usage=usage)]
        elif not isinstance(event, Rewound | RequestSent):
            log.append(event)
    return [Record(seq, 1_700_000_000_000 + seq, event) for seq, event in enumerate(log)]


@pytest.mark.slow
@given(sessions(), st.lists(st.floats(0, 1), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_the_figures_add_up(records: list[Record], shares: list[float]) -> None:
    records = cached(records, shares)
    context, asked = Context(Chars4()), Context(Chars4())
    for record in records:
        context.apply(record)
        asked.apply(record)
        asked.messages()
        assert asked.sha256()
    rows = context.prune_history.rows
    assert rows == asked.prune_history.rows, "asking for messages in between changes no figure"
    assert list(rows) == [r.seq for r in records if is_edit(r.event)]
    fetched = [seq for tracked in rows.values() for seq in tracked.rereads]
    assert len(fetched) == len(set(fetched)), "each fetch is counted once"
    assert all(isinstance(records[seq].event, ToolResult | UserMessage) for seq in fetched)
    assert all(seq > tracked.seq for tracked in rows.values() for seq in tracked.rereads)
    assert all(tracked.rewritten >= 0 for tracked in rows.values())
    billed = AssistantMessage | AttemptBilled
    responses = [r for r in records if isinstance(r.event, billed) and r.event.usage.prompt_tokens]
    for before, after in pairwise(responses):
        between = [t for t in rows.values() if before.seq < t.seq < after.seq and t.measured]
        assert isinstance(after.event, billed)
        fresh = after.event.usage.input_tokens
        assert sum(tracked.rewritten for tracked in between) <= fresh


@given(sessions())
@settings(max_examples=50, deadline=None)
def test_prunes_in_a_row_go_on_from_each_other(records: list[Record]) -> None:
    context = folded(records)
    rows = list(context.prune_history.rows.values())
    for first, second in pairwise(rows):
        if second.seq == first.seq + 1:
            assert first.tokens_after == second.tokens_before


def test_what_a_restore_shows_again_at_the_end_counts_as_a_reread_of_each_prune_that_took_it() -> None:
    talk, (first, last) = warm(tokens(500), tokens(300))
    pruns = [talk.edit("clear", seq, "[gone]") for seq in (first, last)]
    restored = talk.add(shown_again([talk.entry(first), talk.entry(last)], "/restore"))
    found = [row(talk, prun) for prun in pruns]
    assert [one.rereads for one in found] == [(restored,)] * 2
    assert [one.reread_tokens for one in found] == [500, 300]


def spilled(talk: Talk, tool: str, whole: str, shown: str, **given: Any) -> int:
    """A result of which only `shown` is sent; the rest counts 100 tokens."""
    talk.call((tool, given))
    use = talk._open.pop(0)
    return talk.add(ToolResult(use.id, tool, (Text(whole),), spilled=Spilled(100, shown)))


def fetched(talk: Talk) -> list[tuple[int, int, int]]:
    """What fetched content again, the number of calls of its answer, and the tokens that came back."""
    return [(one.seq, one.calls, one.raw) for one in talk.context.prune_history.fetches]


def test_a_recall_of_what_was_held_back_is_a_fetch_until_all_of_it_came_back() -> None:
    talk = Talk()
    talk.user()
    held = spilled(talk, "bash", tokens(140), tokens(40), command="make")
    first = talk.step("recall", tokens(60), entry=held)
    second = talk.step("recall", tokens(60), entry=held)
    talk.step("recall", tokens(60), entry=held)
    assert fetched(talk) == [(first, 1, 60), (second, 1, 40)]
    assert talk.context.prune_history.rows == {}


def test_a_read_of_the_lines_that_were_held_back_is_a_fetch_and_one_of_the_lines_shown_is_not() -> None:
    talk = Talk()
    talk.user()
    text = "".join(f"{line}\n" for line in range(1, 201))
    spilled(talk, "read", text, "".join(f"{line}\n" for line in range(1, 101)) + "[more]", path="a.py")
    talk.step("read", "1\n", path="a.py", offset=1, limit=50)
    assert fetched(talk) == []
    more = talk.step("read", tokens(20), path="a.py", offset=101, limit=50)
    assert fetched(talk) == [(more, 1, 20)]
    talk.step("edit", "ok", path="a.py", touches=Touches(("a.py",), ("a.py",)))
    talk.step("read", tokens(20), path="a.py", offset=120, limit=50)
    assert len(fetched(talk)) == 1, "the file has changed"


@pytest.mark.parametrize("back", ["undo", "restore", "in place", "restore and compaction"])
def test_after_an_undo_only_the_lines_that_were_held_back_can_be_fetched(back: str) -> None:
    talk = Talk()
    talk.user()
    text = "".join(f"{line}\n" for line in range(1, 201))
    held = spilled(talk, "read", text, "".join(f"{line}\n" for line in range(1, 101)) + "[more]", path="a.py")
    ran = spilled(talk, "bash", tokens(140), tokens(40), command="make")
    talk.seen()
    prunes = [talk.edit("clear", held, "[gone]"), talk.edit("clear", ran, "[gone]")]
    if back == "undo":
        talk.revert(*prunes)
    elif back == "in place":
        talk.revert(held, ran)
    else:
        talk.add(shown_again([talk.entry(held), talk.entry(ran)], "/restore"))
    before = len(fetched(talk))
    if "compaction" in back:
        talk.user()
        talk.compact(0, talk.seq - 1)
    talk.step("read", "1\n", path="a.py", offset=1, limit=50)
    talk.step("bash", tokens(40), command="make")
    assert len(fetched(talk)) == before
    talk.step("read", tokens(20), path="a.py", offset=101, limit=50)
    assert len(fetched(talk)) == before + (back in ("undo", "in place")), "/restore showed the rest, too"


def test_the_same_command_again_brings_nothing_back_that_was_held_back() -> None:
    talk = Talk()
    talk.user()
    spilled(talk, "bash", tokens(140), tokens(40), command="make")
    spilled(talk, "bash", tokens(140), tokens(40), command="make")
    assert fetched(talk) == []


def test_a_pruned_result_that_comes_again_is_a_fetch_of_the_answer_that_asked() -> None:
    talk, (first, second) = warm(tokens(500), tokens(300))
    talk.edit("clear", first, "[gone]", "auto")
    talk.edit("clear", second, "[gone]", "auto")
    talk.call(("read", {"path": "0.py"}), ("read", {"path": "1.py"}))
    again = talk.answer(tokens(500)), talk.answer(tokens(300))
    assert fetched(talk) == [(again[0], 2, 500), (again[1], 2, 300)]
    assert {one.answer for one in talk.context.prune_history.fetches} == {again[0] - 1}


def test_a_restore_is_a_fetch_that_no_answer_asked_for() -> None:
    talk, (first, _) = warm(tokens(500), tokens(300))
    talk.edit("clear", first, "[gone]", "auto")
    talk.add(shown_again([talk.entry(first)], "/restore"))
    (one,) = talk.context.prune_history.fetches
    assert (one.answer, one.calls, one.raw) == (-1, 0, 500)
