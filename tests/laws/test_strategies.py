"""What holds for every strategy on every log."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from prunecli.config.effective import Config
from prunecli.config.references import chosen
from prunecli.context.item_order import is_edited_since
from prunecli.context.ledger import ledger, prun_applied
from prunecli.context.memo import Memo
from prunecli.context.state import Context
from prunecli.context.strategies.adaptive import HardClear, SoftTrim
from prunecli.context.strategy import Chosen, Proposal, propose_all
from prunecli.context.tokens import NOTHING, Amount, Chars4, total
from prunecli.context.validate import validate
from prunecli.context.view import View
from prunecli.model.events import (
    AssistantMessage,
    Event,
    Pinned,
    PrunReverted,
    Record,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Text
from prunecli.model.requests import Preamble, Request
from tests.context.expecting import numbers
from tests.laws.logs import sessions
from tests.session.points import folded

WINDOW = 600
SCALED: dict[str, dict[str, Any]] = {
    "no_pruning": {},
    "keep_last_n_steps": {"n": 1},
    "prune_old_observations": {"keep_last_n": 1, "max_length": 20},
    "token_aware": {"max_tokens": 40},
    "importance": {"n": 1},
    "semantic": {"max_tokens": 40},
    "superseded": {},
    "auto": {},
    "pi": {"prune_minimum": 20, "prune_protect": 30, "protected_turns": 0, "prunable_tools": ()},
    "opencode": {"prune_minimum": 20, "prune_protect": 30, "protected_turns": 0},
    "adaptive": {
        "keep_last_assistants": 1,
        "soft_trim_ratio": 0.05,
        "hard_clear_ratio": 0.1,
        "min_prunable_tool_chars": 100,
        "soft_trim": SoftTrim(200, 40, 40),
        "hard_clear": HardClear(placeholder="[gone]"),
    },
    "aggressive": {"keep_last_assistants": 1, "hard_clear": HardClear(placeholder="[gone]")},
}
"""Options at which short logs prune."""

SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, database=None)


def scaled(name: str, **more: Any) -> Chosen:
    module = Config().strategies.module(name)
    return Chosen(name, module, module.Options(**{**SCALED[name], **more}))


NUMBERS = numbers(0.01, min_age=1)

ALL = [scaled(name) for name in SCALED]
REPEATABLE = [one for one in ALL if one.name != "semantic"]
"""Those whose answer hangs on the log alone: `semantic` chooses once for each user turn, when it is first asked."""


def view_of(context: Context, **more: Any) -> View:
    """A view with expectations: without a market, no strategy waits for a cold cache."""
    return View(context, WINDOW, expectations=NUMBERS, **more)


def next_record(context: Context, records: list[Record], event: Any) -> Record:
    record = Record(len(records), 1_800_000_000_000 + 1000 * len(records), event)
    records.append(record)
    context.apply(record)
    return record


def sent(context: Context) -> Request:
    return Request("m", 1, Preamble((), ()), context.messages())


def words(context: Context) -> list[bytes]:
    """What the user typed, as the next request holds it: of a `!cmd` the command."""
    typed = {item.seq: item.wire[:1] if item.kind == "command" else item.wire for item in context.items}
    users = {item.seq for item in context.items if item.opens_turn}
    return [
        block
        for message in context.messages()
        for seq, block in zip(message.seqs, message.blocks, strict=True)
        if seq in users and block in typed[seq]
    ]


def test_every_strategy_is_under_the_laws() -> None:
    shipped = set(Config().strategies.names())
    assert shipped - {"server_clear"} == set(SCALED), "server_clear proposes no edits"


QUICK = 30


@cache
def drawn() -> list[list[Record]]:
    """As many random logs as the quick dose looks at: drawing them takes longer than checking them, so once."""
    found: list[list[Record]] = []

    @given(sessions())
    @settings(SLOW, max_examples=QUICK)
    def draw(records: list[Record]) -> None:
        found.append(records)

    draw()
    return found


def over_logs(check: Callable[[list[Record]], bool], examples: int) -> tuple[int, int]:
    """Runs a check on random logs; how many there were, and for how many it said true."""
    if examples <= QUICK:
        answers = [check(list(records)) for records in drawn()[:examples]]
        return len(answers), sum(answers)
    counts = [0, 0]

    @given(sessions())
    @settings(SLOW, max_examples=examples)
    def run(records: list[Record]) -> None:
        counts[0] += 1
        counts[1] += check(records)

    run()
    return counts[0], counts[1]


@pytest.mark.parametrize("examples", [QUICK, pytest.param(5_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_requests_stay_valid_words_stay_whole_and_nothing_is_asked_for_twice(
    one: Chosen, examples: int
) -> None:
    def check(records: list[Record]) -> bool:
        context = folded(records)
        next_record(context, records, UserMessage((Text("and now?"),)))
        validate(sent(context))
        before = words(context)
        view = view_of(context)
        proposal = one.propose(view)
        assert not any(view.locked(context.entries[edit.seq]) for edit in proposal.edits)
        if proposal.edits:
            event = prun_applied(view, "strategy", proposal.edits, strategy=one.name)
            next_record(context, records, event)
            assert all(edit.tokens_saved > 0 for edit in proposal.edits if edit.kind != "drop")
        validate(sent(context))
        assert words(context) == before
        assert one.propose(view_of(context)).edits == ()
        return bool(proposal.edits)

    total, pruned = over_logs(check, examples)
    assert pruned >= total * (0.5 if one.name != "no_pruning" else 0)


@pytest.mark.parametrize("one", REPEATABLE, ids=lambda one: one.name)
def test_what_was_worked_out_before_answers_as_if_worked_out_now(one: Chosen) -> None:
    def check(records: list[Record]) -> bool:
        context, found = Context(Chars4()), False
        for record in records:
            context.apply(record)
            found = bool(answered(one, context).edits) or found
        next_record(context, records, UserMessage((Text("and now?"),)))
        proposal = answered(one, context)
        found = bool(proposal.edits) or found
        for event in about(context, proposal):
            next_record(context, records, event)
            answered(one, context)
        assert answered(one, context).edits == one.propose(view_of(folded(records), forced=True)).edits
        return found

    total, pruned = over_logs(check, 15)
    assert pruned >= total * (0.5 if one.name != "no_pruning" else 0)


def answered(one: Chosen, context: Context) -> Proposal:
    """What a strategy proposes, held against a memo that has forgotten everything."""
    for forced in (False, True):
        view = view_of(context, forced=forced)
        proposal, anew = one.propose(view), one.propose(replace(view, memo=Memo()))
        assert (proposal.edits, proposal.note) == (anew.edits, anew.note)
        assert reasons(view, proposal) == reasons(view, anew)
    return proposal


def about(context: Context, proposal: Proposal) -> Iterator[Event]:
    """Records that touch what a proposal would change: pinned and let go, pruned, undone, no longer sheltered."""
    if proposal.edits:
        targets = tuple(edit.seq for edit in proposal.edits)
        yield Pinned(targets, True)
        yield Pinned(targets, False)
        yield prun_applied(view_of(context), "strategy", proposal.edits)
        yield PrunReverted((context.live_pruns()[-1].seq,))
        yield from [UserMessage((Text("and now?"),))] * 2
        yield AssistantMessage((Text("done"),), "m", "end_turn")


def reasons(view: View, proposal: Proposal) -> list[str]:
    """Why each live result stays that a proposal has no edit for."""
    going = {edit.seq for edit in proposal.edits}
    return [proposal.why(entry) for entry in view.results if entry.seq not in going]


@pytest.mark.parametrize("second", ["pi", "adaptive", "superseded", "token_aware"])
@pytest.mark.parametrize("first", ["prune_old_observations", "importance", "superseded"])
def test_in_a_list_the_second_sees_the_first_as_applied(first: str, second: str) -> None:
    def check(records: list[Record]) -> bool:
        context = folded(records)
        view = view_of(context)
        (_, ours), (_, listed) = propose_all(view, [scaled(first), scaled(second)])
        assert view.after(ours.edits).total_chars(1000) == after(records, view, ours.edits).total_chars(1000)
        assert listed.edits == scaled(second).propose(after(records, view, ours.edits)).edits
        assert scaled(first).propose(view).edits == ours.edits
        return bool(ours.edits)

    total, pruned = over_logs(check, QUICK)
    assert pruned >= total / 3


def after(records: list[Record], view: View, edits: Any) -> View:
    records = list(records)
    context = folded(records)
    if edits:
        next_record(context, records, prun_applied(view, "strategy", edits))
    return view_of(context)


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_the_ledger_equals_a_recount(one: Chosen) -> None:
    def check(records: list[Record]) -> bool:
        context, found = Context(Chars4()), False
        for index, record in enumerate(records):
            context.apply(record)
            view = view_of(context)
            told = ledger(view, [one])
            if index % 7 == 6:
                assert told == recount(folded(records[: index + 1]), one) or one.name == "semantic"
                assert len(told.spared) == told.protected_results
                found = found or told.protected_results > 0
        return found

    total, protecting = over_logs(check, 12)
    assert protecting >= total * (0.5 if one.name in ("no_pruning", "pi", "superseded") else 0)


def recount(context: Context, one: Chosen) -> Any:
    """The ledger by walking over everything."""
    view = view_of(context, forced=True)
    edits = one.propose(view).edits
    touched = {edit.seq for edit in edits}
    for edit in edits:
        exchange = context.entries[edit.seq].exchange
        if edit.kind == "drop" and exchange:
            touched |= {result.seq for result in exchange.results}
    kept = [entry for entry in view.results if entry.seq not in touched]
    counts, scanned, withheld = context.counts, NOTHING, NOTHING
    for entry in context.entries.values():
        exchange = entry.exchange
        home = exchange.head if exchange else entry
        if entry.kind == "summary" or not context.is_shown(home.seq):
            continue
        scanned = scanned.plus(counts.amount(entry) if entry.is_scanned else NOTHING)
        if not (home.seq > context.boundary or is_edited_since(context, home)):
            continue
        amount, edit = counts.amount(entry), context.text_edit(entry.seq)
        dropped = exchange is not None and context.dropped(exchange)
        shown = NOTHING if dropped else counts.amount(entry, edit)
        memos = context.memos_at(exchange) if exchange and entry.kind == "assistant" else []
        of_memos = Amount(sum(view.count(memo.text or "") for memo in memos))
        withheld = withheld.plus(amount).minus(shown).minus(of_memos)
    held = [entry.held_tokens for entry in view.results if entry.spilled and entry.seq not in context.again]
    told = ledger(view_of(context), [])
    return type(told)(
        round(counts.scale.tokens(*scanned) * context.prune_history.drift(counts.scale)),
        context.prune_history.shown_of(withheld, counts.scale),
        len(kept),
        counts.scale.tokens(*total(map(counts.amount, kept))),
        told.context_tokens,
        WINDOW,
        held_tokens=counts.scale.tokens(sum(held)),
        held_results=len(held),
    )


def test_a_strategy_named_by_the_configuration_runs_with_its_options() -> None:
    one = chosen(Config().with_value("keep_last_n_steps.n", "3"), "keep_last_n_steps")
    assert (one.name, one.options.n, dict(one.functions)) == ("keep_last_n_steps", 3, {})


def test_results_are_what_the_logs_prune() -> None:
    """The scaled options would prove nothing on logs without results."""

    def check(records: list[Record]) -> bool:
        return sum(isinstance(record.event, ToolResult) for record in records) >= 3

    total, rich = over_logs(check, 60)
    assert rich >= total / 2
