"""Another terminal on a running conversation: it sees what comes, and its edits count from the next request on."""

import asyncio
import json
from collections import deque
from pathlib import Path
from typing import Any

import httpx2
import pytest

from prunecli.features.proxy.attach import asked_all, chosen, ended, followed
from prunecli.features.proxy.hosting import Running, answered, summary_of
from prunecli.features.proxy.sockets import connection
from prunecli.front.headless.commands import run_command
from prunecli.runtime import Runtime
from prunecli.util.errors import PrunecliError
from tests.endpoint import Endpoint
from tests.features.proxy.driving import KEY, LONG, Program, proxied
from tests.features.proxy.test_proxy import KEEPS_LITTLE, proved, reads
from tests.tui.showing_app import shown


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": KEY}


async def test_the_inspector_opens_on_a_conversation_and_acts_on_its_next_request(tmp_path: Path) -> None:
    async with Endpoint(reads(6)) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said := [], prunes=False) as running:
            program = Program(running.address)
            for n in range(3):
                await program.turn(client, f"read {n}")
            async with shown(tmp_path, runtime=attached(running, tmp_path)) as there:
                await there.until_shown("what you can prune", "5 requests so far")
                await there.pilot.press("1", "enter")
                await there.until_shown("Pruned 1.7K")
                await program.turn(client, "more")
                there.conversation.tick()
                await there.until_shown("7 requests so far")
                pruned = len(endpoint.requests[-1].body)
                await there.pilot.press("u", "enter")
                await program.turn(client, "again")
                await there.pilot.press("q")
                await there.type("a prompt of mine", "enter")
                await there.until_shown("only its program adds messages")
    assert (endpoint.rejected, said) == ([], [])
    assert len(endpoint.requests[-1].body) > pruned + 2 * len(LONG)
    [line] = proved(tmp_path)
    assert line.endswith("10 requests: all good")


def attached(running: Running, home: Path) -> Any:
    [one] = running.conversations.all
    return followed(
        summary_of(one),
        lambda asked: answered(running.conversations, json.loads(json.dumps(asked))),
        environment(home),
    )


async def test_commands_of_attach_reach_the_proxy_through_its_socket(tmp_path: Path) -> None:
    async with Endpoint(reads(5)) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, said := [], strategy=KEEPS_LITTLE, prunes=False) as running:
            program = Program(running.address)
            for n in range(3):
                await program.turn(client, f"read {n}")
            lines = [
                "/prune",
                "/cost",
                "/prune-toggle off",
                "/model haiku",
                "/restore 8",
            ]
            told = await asyncio.to_thread(commands, environment(tmp_path), lines)
            await program.turn(client, "more")
    assert (endpoint.rejected, said) == ([], [])
    assert "\nPruned 1.7K" in f"\n{told[0]}"
    assert "claude-sonnet-4-5" in told[1]
    assert told[2].startswith("Automatic pruning is off")
    assert told[3] == "only the program can change model.name"
    assert told[4].endswith("only its program adds messages")
    [one] = running.conversations.all
    over = followed(ended(one.runtime.session.id, environment(tmp_path)), None, environment(tmp_path))
    assert "claude-sonnet-4-5" in await ran(over, "/cost")
    with pytest.raises(PrunecliError, match="its proxy has ended"):
        await ran(over, "/prune-toggle on")
    [line] = proved(tmp_path)
    assert line.endswith("8 requests: all good")


async def ran(runtime: Runtime, line: str) -> str:
    """Run a command and return what it says."""
    if runtime.resuming is not None:
        deque(runtime.resuming.steps(), 0)
        runtime.resuming.finish()
    done = await run_command(runtime, line)
    assert done
    return "\n".join(done.lines)


def commands(environ: dict[str, str], lines: list[str]) -> list[str]:
    found = chosen(asked_all(environ), "")
    assert found
    path, row = found
    assert path.stat().st_mode & 0o777 == 0o600
    said: list[str] = []
    with connection(path) as ask:
        for line in lines:
            try:
                said.append(asyncio.run(ran(followed(row, ask, environ), line)))
            except PrunecliError as error:
                said.append(error.message)
    return said


async def test_a_model_that_binds_its_thinking_is_not_pruned_by_hand_either(tmp_path: Path) -> None:
    async with Endpoint(reads(2)) as endpoint, httpx2.AsyncClient() as client:
        async with proxied(endpoint, tmp_path, []) as running:
            program = Program(running.address, "claude-opus-5-5")
            await program.turn(client, "read")
            await program.turn(client, "again")
            with pytest.raises(PrunecliError, match="thinking is bound"):
                await ran(attached(running, tmp_path), "/prune")
