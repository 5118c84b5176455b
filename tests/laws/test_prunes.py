"""Pruning, undo and compaction in any order: what always holds, and that a planted mistake is noticed."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis import strategies as st

from prunecli.context.compaction import Options, plan_compaction
from prunecli.context.impact import Overlay
from prunecli.context.ledger import prun_applied
from prunecli.context.prun import plan_edits, plan_prun
from prunecli.context.redo import redo
from prunecli.context.state import Context
from prunecli.context.strategies import pi
from prunecli.context.tokens import Chars4
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import (
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
    UserMessage,
)
from prunecli.model.messages import Text
from prunecli.model.requests import WireMessage
from tests.context.project import project
from tests.laws import checks
from tests.laws.logs import logs, sessions
from tests.session.points import folded

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NOTICED = settings(QUICK, max_examples=200, database=None, phases=[Phase.generate])
"""For a planted mistake: that it is found counts, not how small an example of it can be made."""
LOGS, PARTS = 100_000, 20
PI = pi.Options(prune_minimum=20, prune_protect=30, protected_turns=0, prunable_tools=())
COMPACT = Options(max_context_tokens=120, compact_at_pct=0.5, keep_first_turns=1, keep_recent_turns=1)


class Story:
    """A session that goes on: a log, its fold, and what is decided on it.

    Random prunes, rewinds and made-up summaries are left out: they may lose words on purpose.
    """

    def __init__(self, records: list[Record]) -> None:
        self.records: list[Record] = []
        self.context = Context(Chars4())
        for record in records:
            if not isinstance(record.event, PrunApplied | Rewound | CompactionApplied):
                self.add(record.event)
        self.add(UserMessage((Text("and now?"),)))

    def add(self, event: Any) -> None:
        record = Record(len(self.records), 1_700_000_000_000 + 1000 * len(self.records), event)
        self.records.append(record)
        self.context.apply(record)

    @property
    def view(self) -> View:
        return View(self.context, 600)

    def strategy(self) -> bool:
        proposal = pi.propose(self.view, PI)
        if proposal.edits:
            self.add(prun_applied(self.view, "strategy", proposal.edits, strategy="pi"))
        return bool(proposal.edits)

    def prun(self, tokens: int, memo: str | None) -> bool:
        plan = plan_prun(self.view, tokens, memo)
        if plan.exchanges:
            edits = plan_edits(self.view, plan)
            self.add(prun_applied(self.view, "model", edits, memo=memo))
        return bool(plan.exchanges)

    def compact(self) -> bool:
        plan = plan_compaction(self.context, COMPACT, 600)
        if plan is not None:
            self.add(plan.event(self.context, "the gist"))
        return plan is not None

    def undo_all(self) -> None:
        live = [record.seq for record in self.context.live_pruns()]
        if live:
            self.add(PrunReverted(tuple(reversed(live))))


ACTS = st.lists(st.sampled_from(["strategy", "prun", "memo", "compact", "undo", "say"]), max_size=6)


def act(story: Story, what: str) -> bool:
    match what:
        case "strategy":
            return story.strategy()
        case "prun":
            return story.prun(20, None)
        case "memo":
            return story.prun(30, "what <was> learned & kept")
        case "compact":
            return story.compact()
        case "undo":
            story.undo_all()
        case "say":
            story.add(UserMessage((Text("more words"),)))
    return False


def told(records: list[Record], acts: list[str]) -> Story:
    """A story in which all of this was done; each request of it is valid, the projection's, and holds every word."""
    story = Story(records)
    for what in acts:
        act(story, what)
        checks.valid(story.context.messages())
        checks.words_said_somewhere(story.records, story.context.messages())
        assert story.context.messages() == project(story.records)
    fresh = folded(story.records)
    checks.counted_once(story.context.counts.pruned.raw, fresh.counts.pruned.raw)
    checks.counted_once(story.context.counts.scanned.raw, fresh.counts.scanned.raw)
    return story


@given(sessions(), ACTS)
@QUICK
def test_pruning_compaction_and_undo_in_any_order_leave_no_orphan_and_lose_no_word(
    records: list[Record], acts: list[str]
) -> None:
    story = told(records, acts)
    assert story.context.messages() == project(story.records)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_the_same_for_a_hundred_thousand_logs(part: int) -> None:
    """In parts, so that several processes can share it."""

    @seed(part)
    @given(sessions(), ACTS)
    @settings(QUICK, max_examples=LOGS // PARTS, database=None)
    def run(records: list[Record], acts: list[str]) -> None:
        story = told(records, acts)
        assert story.context.messages() == project(story.records)

    run()


def test_half_of_the_logs_prune_and_a_fifth_compact() -> None:
    counts = {"logs": 0, "pruned": 0, "compacted": 0}

    @given(sessions())
    @settings(QUICK, max_examples=100, derandomize=True, database=None)
    def count(records: list[Record]) -> None:
        counts["logs"] += 1
        counts["pruned"] += Story(records).strategy()
        counts["compacted"] += Story(records).compact()

    count()
    assert counts["pruned"] >= counts["logs"] / 2
    assert counts["compacted"] >= counts["logs"] / 5


@given(sessions(), st.lists(st.sampled_from(["strategy", "prun", "memo"]), max_size=4))
@QUICK
def test_undo_of_everything_is_never_having_pruned(records: list[Record], acts: list[str]) -> None:
    story = Story(records)
    story.undo_all()
    untouched = story.context.messages()
    for what in acts:
        act(story, what)
    story.undo_all()
    assert story.context.messages() == untouched
    assert story.context.counts.pruned.raw == 0


@given(sessions(), st.sampled_from(["strategy", "prun", "memo"]))
@settings(QUICK, max_examples=60)
def test_redo_of_an_undo_gives_the_same_request(records: list[Record], what: str) -> None:
    story = Story(records)
    story.undo_all()
    if act(story, what):
        pruned = story.context.messages()
        story.add(PrunReverted((story.records[-1].seq,)))
        for event in redo(story.view, story.records):
            story.add(event)
        assert story.context.messages() == pruned


@given(sessions(), st.sampled_from(["strategy", "prun", "memo"]))
@QUICK
def test_a_prune_changes_nothing_before_its_first_edit(records: list[Record], what: str) -> None:
    story = Story(records)
    before = story.context.messages()
    if act(story, what):
        event = story.records[-1].event
        assert isinstance(event, PrunApplied)
        checks.sticky(before, story.context.messages(), min(edit.seq for edit in event.edits))


@given(logs(), st.data())
@QUICK
def test_an_item_under_plain_edits_is_as_the_overlay_of_a_prune_shows_it(
    records: list[Record], data: st.DataObject
) -> None:
    context = folded(records)
    counts = context.counts
    for head in context.items:
        parts = head.exchange.entries if head.exchange else [head]
        possible = [
            edit
            for part in parts
            for edit in (
                Edit("clear", part.seq, None, "[gone]"),
                Edit("trim", part.seq, None, "[gone]"),
                Edit("drop", part.seq),
                *(
                    Edit("cut", part.seq, one.id, "{}", 9, 2)
                    for one in (head.exchange.calls if head.exchange else ())
                ),
            )
            if part.takes(edit)
        ]
        edits = data.draw(st.lists(st.sampled_from(possible), max_size=3)) if possible else []
        overlay = Overlay(context, [PrunApplied("strategy", tuple(edits))])
        shown, planned = overlay.item(head), counts.items[head.seq].under(edits)
        assert planned.is_same(shown)
        assert counts.item_amount(planned) == counts.item_amount(shown)
        assert planned is counts.items[head.seq].under(list(edits)), "the last one is kept"


@given(sessions())
@QUICK
def test_a_plan_removes_what_it_promised(records: list[Record]) -> None:
    story = Story(records)
    counts, before = story.context.counts, story.context.counts.pruned
    plan = plan_prun(story.view, 25, "the gist")
    if plan.exchanges:
        edits = plan_edits(story.view, plan)
        story.add(prun_applied(story.view, "model", edits, memo="the gist"))
        event = story.records[-1].event
        assert isinstance(event, PrunApplied)
        assert event.tokens_removed == plan.tokens
        assert f"~{counts.scale.tokens(*counts.pruned.minus(before)):,} tokens" in plan.message
        locked = [
            seq
            for seq in plan.exchanges
            if story.context.in_progress and seq == story.context.in_progress.seq
        ]
        assert locked == []


# Planted mistakes: each must be noticed by the law it breaks ---------------------------------------------------


def dropped_by_message(story: Story) -> tuple[WireMessage, ...]:
    """Drops the assistant's message and leaves its results."""
    messages = story.context.messages()
    return tuple(
        m for i, m in enumerate(messages) if m.role == "user" or b"tool_use" not in m.canonical or i > 1
    )


def sorted_by_time(story: Story) -> tuple[WireMessage, ...]:
    """Puts what was typed while a tool ran between the call and its result."""
    return tuple(
        WireMessage.of(m.role, m.blocks[::-1], m.seqs[::-1]) if m.role == "user" else m
        for m in story.context.messages()
    )


def memo_merged(story: Story) -> tuple[WireMessage, ...]:
    """Writes a memo into the user's own words."""
    changed = []
    for message in story.context.messages():
        blocks = list(message.blocks)
        if message.role == "user" and json.loads(blocks[0])["type"] == "text":
            text = json.loads(blocks[0])["text"] + "\n<memo>"
            blocks[0] = json.dumps({"text": text, "type": "text"}).encode()
        changed.append(WireMessage.of(message.role, tuple(blocks), message.seqs))
    return tuple(changed)


@pytest.mark.parametrize("mutant", [dropped_by_message, sorted_by_time])
def test_broken_pairs_are_noticed(mutant: Callable[[Story], tuple[WireMessage, ...]]) -> None:
    def noticed(records: list[Record]) -> bool:
        try:
            checks.valid(mutant(Story(records)))
        except Exception:  # noqa: BLE001  # any complaint will do
            return True
        return False

    assert find(sessions(), noticed, settings=NOTICED)


def test_a_memo_in_the_users_words_is_noticed() -> None:
    def noticed(records: list[Record]) -> bool:
        story = Story(records)
        try:
            checks.words_intact(story.records, memo_merged(story))
        except AssertionError:
            return True
        return False

    assert find(sessions(), noticed, settings=NOTICED)


def test_a_boundary_that_is_computed_anew_for_each_request_is_noticed() -> None:
    """What the first OpenClaw pruner and pi-context-pruning did: the boundary moves with each request."""

    def noticed(records: list[Record]) -> bool:
        story = Story(records)
        if not story.strategy():
            return False
        before = story.context.messages()
        story.add(PrunReverted((story.records[-1].seq,)))
        for _ in range(3):
            story.add(UserMessage((Text("more"),)))
        try:
            checks.sticky(before, story.context.messages(), len(story.records))
        except AssertionError:
            return True
        return False

    assert find(sessions(), noticed, settings=NOTICED)


def test_savings_that_are_counted_twice_are_noticed() -> None:
    def noticed(records: list[Record]) -> bool:
        story = Story(records)
        if not story.strategy():
            return False
        event = story.records[-1].event
        assert isinstance(event, PrunApplied)
        try:
            checks.counted_once(2 * event.tokens_removed, story.context.counts.pruned.raw)
        except AssertionError:
            return True
        return False

    assert find(sessions(), noticed, settings=NOTICED)
