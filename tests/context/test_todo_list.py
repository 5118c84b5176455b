"""The to-do list in effect, and what pruning does to older ones and to the newest."""

from typing import Any

import pytest
from hypothesis import given, settings

from prunecli.context.labels import Key
from prunecli.context.manual_edits import plan
from prunecli.context.outline import Outline
from prunecli.context.state import Context
from prunecli.context.todo_list import CURRENT, is_sent, shown_todos, todos
from prunecli.context.tokens import Chars4
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    Record,
    Rewound,
    ToolResult,
)
from prunecli.model.messages import Text, ToolUse
from prunecli.model.todos import in_one_line
from prunecli.session.importers.tool_names import ours
from tests.context.project import _branch
from tests.context.talk import ALL, THOUGHT, Talk, seqs, tokens
from tests.laws.logs import logs


def listed(*statuses: str) -> dict[str, Any]:
    return {"todos": [{"content": f"item {at}", "status": status} for at, status in enumerate(statuses)]}


def keep(talk: Talk, *statuses: str, error: bool = False, before: tuple[Any, ...] = ()) -> int:
    """A call of todo and its result; the seq of the answer that holds it."""
    return talk.exchange(talk.step("todo", "ok", error=error, before=before, **listed(*statuses))).seq


def test_the_newest_accepted_call_is_the_list() -> None:
    talk = Talk()
    talk.user()
    assert todos(talk.context) == ()
    keep(talk, "in_progress", "pending")
    keep(talk, "completed", "in_progress")
    keep(talk, "done", error=True)
    assert in_one_line(todos(talk.context)) == "1/2 · now: item 1"


def test_of_two_calls_in_one_message_the_later_call_counts_whichever_ends_first() -> None:
    talk = Talk()
    talk.user()
    talk.call(("todo", listed("pending")), ("todo", listed("completed")))
    talk._open.reverse()
    talk.answer("ok")
    talk.answer("ok")
    assert in_one_line(todos(talk.context)) == "1/1 · all done"


def test_a_rewind_brings_the_earlier_list_back() -> None:
    talk = Talk()
    talk.user()
    keep(talk, "in_progress")
    before = talk.say()
    talk.user()
    keep(talk, "completed")
    talk.add(Rewound(before))
    assert in_one_line(todos(talk.context)) == "0/1 · now: item 0"
    talk.add(Rewound(0))
    assert todos(talk.context) == ()


def test_a_finished_list_is_shown_until_the_next_prompt() -> None:
    talk = Talk()
    talk.user()
    keep(talk, "completed")
    talk.say()
    assert shown_todos(talk.context) == todos(talk.context) != ()
    talk.user()
    assert shown_todos(talk.context) == ()
    keep(talk, "pending")
    talk.user()
    assert shown_todos(talk.context) != ()


def test_a_compaction_keeps_the_list_but_not_in_the_request() -> None:
    talk = Talk()
    first = talk.user()
    keep(talk, "in_progress")
    talk.say()
    last = talk.user()
    assert is_sent(talk.context)
    talk.compact(first, last)
    assert in_one_line(todos(talk.context)) == "0/1 · now: item 0"
    assert not is_sent(talk.context)


@pytest.mark.parametrize("name", ["TodoWrite", "todowrite", "todo", "write_todos"])
def test_the_lists_of_other_agents_hold(name: str) -> None:
    given = {"todos": [{"content": "Fix it", "status": "in_progress", "activeForm": "Fixing it"}]}
    assert ours(ToolUse("c", name, given)) == ToolUse("c", "todo", given)


def test_a_plan_of_codex_holds() -> None:
    talk = Talk()
    talk.user()
    call = ours(ToolUse("c", "update_plan", {"plan": [{"step": "Fix it", "status": "in_progress"}]}))
    talk.step(call.name, "Plan updated", **call.input)
    assert in_one_line(todos(talk.context)) == "0/1 · now: Fix it"


# Pruning -----------------------------------------------------------------------------------------------------


def dropping(talk: Talk, name: str, **options: Any) -> set[int]:
    edits = talk.ask(name, **options).edits
    return {edit.seq for edit in edits if edit.kind == "drop"}


@pytest.mark.parametrize(("name", "options"), [("keep_last_n_steps", {"n": 0}), ("importance", {"n": 0})])
def test_no_strategy_drops_the_newest_and_any_may_drop_an_older_one(
    name: str, options: dict[str, int]
) -> None:
    talk = Talk()
    talk.user()
    first, second = keep(talk, "in_progress"), keep(talk, "completed")
    talk.seen()
    found = dropping(talk, name, **options)
    assert first in found
    assert second not in found
    assert talk.view().locked(talk.exchange(second)) == CURRENT


def test_a_large_result_beside_the_newest_list_is_prunable() -> None:
    talk = Talk()
    talk.user()
    talk.call(("todo", listed("pending")), ("read", {"path": "a.py"}))
    talk.answer("ok")
    large = talk.answer(tokens(9_000))
    talk.seen()
    assert seqs(talk.ask("pi", **ALL)) == [large]


def test_a_newer_list_frees_the_older_one_in_cached_answers() -> None:
    talk = Talk()
    talk.user()
    first = keep(talk, "in_progress")
    talk.seen()
    assert dropping(talk, "keep_last_n_steps", n=0) == {talk.context.exchanges[-1].seq}
    keep(talk, "completed")
    talk.seen()
    assert first in dropping(talk, "keep_last_n_steps", n=0)


def read_twice(talk: Talk) -> int:
    """A read that the next one replaces; its seq."""
    first = talk.step("read", tokens(500), path="a.py")
    talk.step("read", tokens(500), path="a.py")
    return first


def test_older_lists_go_with_a_batch_that_begins_before_them_and_never_alone() -> None:
    talk = Talk()
    talk.user()
    early = keep(talk, "in_progress", before=(THOUGHT,))
    alone = Talk()
    alone.user()
    keep(alone, "in_progress")
    keep(alone, "completed")
    alone.seen()
    assert alone.ask("superseded").edits == ()
    read = read_twice(talk)
    middle = keep(talk, "in_progress", before=(THOUGHT,))
    spoken = keep(talk, "in_progress", before=(Text("I found it."),))
    newest = keep(talk, "completed")
    talk.seen()
    assert seqs(talk.ask("superseded")) == [read, middle]
    assert not {early, spoken, newest} & set(seqs(talk.ask("superseded")))
    talk.apply(talk.ask("superseded"), "superseded")
    assert talk.ask("superseded").edits == ()
    talk.user()
    talk.request()


def test_the_user_may_prune_the_newest_by_hand_and_then_it_is_not_sent() -> None:
    talk = Talk()
    talk.user()
    newest = keep(talk, "in_progress")
    talk.seen()
    for event in plan(talk.view(), Outline(talk.context, ()), "prune", Key("exchange", newest)).events:
        talk.add(event)
    assert not is_sent(talk.context)
    assert in_one_line(todos(talk.context)) == "0/1 · now: item 0"


# The law -----------------------------------------------------------------------------------------------------


def newest_call(records: list[Record]) -> str:
    """The id of the newest accepted call of todo, worked out from the branch at once."""
    owner: dict[str, tuple[int, int, str]] = {}
    open_calls: dict[str, tuple[int, int, str]] = {}
    found: list[tuple[int, int, str]] = []
    for record in _branch(records):
        event = record.event
        if isinstance(event, AssistantMessage) and event.stop_reason != "refusal":
            calls = [block for block in event.content if isinstance(block, ToolUse)]
            owner = {call.id: (record.seq, at, call.name) for at, call in enumerate(calls)}
            open_calls |= owner
        elif isinstance(event, ToolResult) and (call := open_calls.pop(event.tool_use_id, None)):
            if call[2] == "todo" and not event.is_error:
                found.append((call[0], call[1], event.tool_use_id))
        elif isinstance(event, CompactionApplied | PrunApplied):
            pass  # neither changes the list
    return max(found)[2] if found else ""


@given(logs())
@settings(max_examples=200, deadline=None)
def test_the_list_follows_from_the_branch_alone(records: list[Record]) -> None:
    context = Context(Chars4())
    for record in records:
        context.apply(record)
    call = context.todo.call if context.todo else None
    assert (call.id if call else "") == newest_call(records)
