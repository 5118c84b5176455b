"""The fold always equals the slow, obvious projection."""

import sys
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings

from prunecli.context import render
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.features.replay.prefix import blocks_of
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    PrunApplied,
    Record,
    RequestSent,
    Rewound,
    UserMessage,
)
from prunecli.model.messages import Text, Usage
from prunecli.model.notes import notice
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.model.requests import WireMessage
from tests.context.project import project
from tests.laws.logs import logs
from tests.session.points import folded


def differing(records: list[Record]) -> list[int]:
    """After which records the fold is not the projection."""
    context, found = Context(Chars4()), []
    for index, record in enumerate(records):
        context.apply(record)
        if context.messages() != project(records[: index + 1]):
            found.append(index)
    return found


@given(logs())
@settings(max_examples=75, deadline=None)
def test_the_fold_equals_the_projection_after_every_record(records: list[Record]) -> None:
    """Prunes of prunes, memos of memos, unknown entries, in any order."""
    assert differing(records) == []


def test_a_repaired_summary_is_repaired_in_both() -> None:
    events: list[Event] = [
        UserMessage((Text("one"),)),
        CompactionApplied("what was said", -1, 1),
        UserMessage((Text("two"),)),
        PrunApplied("strategy", (Edit("repair", 1, None, "mended"),), "repair"),
    ]
    records = [Record(seq, 1_700_000_000_000 + seq, event) for seq, event in enumerate(events)]
    assert differing(records) == []
    assert folded(records).messages()[0].blocks == (render.text("mended"), render.text("two"))


def test_nothing_clears_a_notice_that_is_kept() -> None:
    events: list[Event] = [
        UserMessage((Text("one"),)),
        notice("instructions", "what holds now", kept=True),
        PrunApplied("strategy", (Edit("clear", 1, None, "[cleared]"),), "opencode"),
    ]
    records = [Record(seq, 1_700_000_000_000 + seq, event) for seq, event in enumerate(events)]
    assert differing(records) == []
    assert folded(records).live_results == []
    assert b"what holds now" in folded(records).messages()[0].canonical


@pytest.mark.long
@given(logs())
@settings(max_examples=10_000, deadline=None)
def test_it_equals_the_projection_for_ten_thousand_logs(records: list[Record]) -> None:
    assert differing(records) == []


@given(logs())
@settings(max_examples=50, deadline=None)
def test_the_chain_of_hashes_does_not_depend_on_when_it_is_asked_for(records: list[Record]) -> None:
    asked = Context(Chars4())
    for record in records:
        asked.apply(record)
        asked.sha256()
    assert asked.sha256() == folded(records).sha256()


@given(logs())
@settings(max_examples=50, deadline=None)
def test_the_messages_do_not_depend_on_when_they_are_first_read(records: list[Record]) -> None:
    read, unread = Context(Chars4()), Context(Chars4())
    sent: tuple[WireMessage, ...] | None = ()
    for record in records:
        event = record.event
        if isinstance(event, RequestSent):  # breakpoints read the messages
            event = replace(event, cache_marks=())
        read.apply(replace(record, event=event))
        unread.apply(replace(record, event=event))
        messages = read.messages()
        if isinstance(event, RequestSent | Rewound):
            sent = None if isinstance(event, Rewound) else messages
    assert unread.messages() == read.messages()
    same = unread.wire.unchanged
    assert same <= read.wire.unchanged
    if sent is not None:
        pairs = zip(unread.messages()[:same], sent[:same], strict=True)
        assert all(now.canonical == then.canonical for now, then in pairs)


@given(logs())
@settings(max_examples=50, deadline=None)
def test_without_figures_of_the_past_the_context_is_the_same(records: list[Record]) -> None:
    plain, billed = Context(Chars4(), billed=False), folded(records)
    for record in records:
        plain.apply(record)
    assert plain.sha256() == billed.sha256()
    assert plain.counts.context_tokens == billed.counts.context_tokens
    assert plain.counts.pruned == billed.counts.pruned
    assert not plain.prune_history.rows


@given(logs())
@settings(max_examples=50, deadline=None)
def test_as_many_blocks_are_counted_as_are_made(records: list[Record]) -> None:
    for item in folded(records).counts.items.values():
        if not (item.hidden or item.edits or item.memos or item.silent):
            assert blocks_of(item) == sum(len(part.wire) for part in item.parts)


@given(logs())
@settings(max_examples=150, deadline=None)
def test_the_running_sums_equal_a_recount_from_scratch(records: list[Record]) -> None:
    asked = Context(Chars4())
    for record in records:
        asked.apply(record)
        assert asked.counts.pruned.raw is not None
        assert asked.counts.length.chars >= 0
    fresh = folded(records)
    assert asked.counts.scanned.raw == fresh.counts.scanned.raw
    assert asked.counts.pruned.raw == fresh.counts.pruned.raw
    assert asked.counts.length == fresh.counts.length
    assert asked.counts.context_tokens == fresh.counts.context_tokens


@given(logs())
@settings(max_examples=50, deadline=None)
def test_a_record_reads_back_as_it_was_written(records: list[Record]) -> None:
    for record in records:
        assert decode_record(encode_record(record)[:-1]) == record


@given(logs())
@settings(max_examples=50, deadline=None)
def test_messages_called_unchanged_are_those_that_were_sent(records: list[Record]) -> None:
    context = Context(Chars4())
    sent = list[bytes]()
    for record in records:
        context.apply(record)
        if type(record.event).__name__ == "RequestSent":
            sent = [one.canonical for one in context.messages()]
        elif type(record.event).__name__ != "Rewound":
            same = context.wire.unchanged
            assert [one.canonical for one in context.messages()[:same]] == sent[:same]


def instructions(context: Context, records: list[Record]) -> int:
    """How many instructions of the interpreter it takes to fold these."""
    count, before = 0, sys.gettrace()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        for record in records:
            context.apply(record)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("reports", [True, False])
def test_folding_a_turn_costs_no_more_after_many_requests(reports: bool) -> None:
    context, costs = Context(Chars4()), list[int]()
    for turn in range(100):
        usage = Usage(1, 1, 100 * turn, 100) if reports else Usage()
        said = UserMessage((Text("go on"),)), RequestSent("m", 1, "", (2 * turn,))
        events = *said, AssistantMessage((Text("done"),), "m", "end_turn", usage)
        costs.append(
            instructions(
                context, [Record(3 * turn + at, 3 * turn + at, one) for at, one in enumerate(events)]
            )
        )
    assert sum(costs[80:]) < 1.1 * sum(costs[10:30])
