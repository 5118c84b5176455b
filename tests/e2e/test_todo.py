"""The to-do list through a run on the strict endpoint with bound thinking."""

import json
from pathlib import Path
from typing import Any

import pytest

from prunecli.context.todo_list import todos
from prunecli.features.todo_and_ask.part import TODOS
from prunecli.model.todos import in_one_line
from prunecli.runtime import Runtime
from tests.e2e.bound import answers, dropped, session, turn
from tests.endpoint import Call, Endpoint, Reply, Rules, Thinking


def listed(*statuses: str) -> Reply:
    """An answer that writes a list."""
    items = [{"content": f"Step {at} of the plan", "status": status} for at, status in enumerate(statuses)]
    return Reply([Thinking("I should note this."), Call("todo", {"todos": items})])


def said(endpoint: Endpoint, number: int = -1) -> str:
    return json.dumps(endpoint.requests[number].messages)


def preambles(endpoint: Endpoint) -> set[str]:
    return {json.dumps([one.json["system"], one.json["tools"]]) for one in endpoint.requests}


def list_of(runtime: Runtime) -> str:
    return in_one_line(todos(runtime.session.context))


@pytest.mark.parametrize("old_account", [False, True])
async def test_after_a_compaction_the_list_is_given_once_and_no_thinking_is_lost(
    tmp_path: Path, old_account: bool
) -> None:
    script = [
        listed("in_progress", "pending"),
        *turn(0),
        *turn(1),
        Reply("The gist of the first turn."),
        *turn(2),
        *turn(3),
    ]
    async with Endpoint(script, rules=Rules(old_account=old_account)) as endpoint:
        async with session(tmp_path, endpoint) as runtime:
            for words in ("first words", "second words"):
                await runtime.submit(words)
            assert await runtime.compact()
            assert list_of(runtime) == "0/2 · now: Step 0 of the plan"
            await runtime.submit("third words")
            await runtime.submit("fourth words")
        assert [one for one in endpoint.rejected if one.refusal] == []
        assert dropped(endpoint) == [0] * len(endpoint.requests)
        assert len(answers(runtime)) == len(script) - 1
        assert said(endpoint, 2).count(TODOS) == 0
        for number in (-4, -1):
            assert said(endpoint, number).count(f"[notice] {TODOS}") == 1
            assert said(endpoint, number).count("[>] Step 0 of the plan") == 1
        with_tools = [one for one in endpoint.requests if "compaction" not in one.json]
        assert len({json.dumps(one.json["tools"]) for one in with_tools}) == 1


async def test_a_list_that_is_in_the_context_is_never_repeated(tmp_path: Path) -> None:
    script = [listed("in_progress"), listed("completed"), *turn(0), *turn(1)]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint) as runtime:
        await runtime.submit("first words")
        await runtime.submit("second words")
        assert TODOS not in said(endpoint)
        assert len(preambles(endpoint)) == 1
        assert list_of(runtime) == "1/1 · all done"


async def test_a_finished_list_is_not_given_again(tmp_path: Path) -> None:
    script = [listed("completed"), *turn(0), *turn(1), Reply("The gist."), *turn(2)]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint) as runtime:
        for words in ("first words", "second words"):
            await runtime.submit(words)
        assert await runtime.compact()
        await runtime.submit("third words")
        assert TODOS not in said(endpoint)


async def test_a_task_has_a_list_of_its_own(tmp_path: Path) -> None:
    task: dict[str, Any] = {"prompt": "look", "description": "look around"}
    script = [
        listed("in_progress"),
        Reply([Call("task", task)]),
        listed("completed", "completed"),
        Reply("It is there."),
        *turn(0),
    ]
    async with Endpoint(script) as endpoint, session(tmp_path, endpoint) as runtime:
        await runtime.submit("first words")
        assert list_of(runtime) == "0/1 · now: Step 0 of the plan"
