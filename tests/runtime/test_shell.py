"""The user's own commands: what is recorded of one that is stopped."""

import asyncio
from pathlib import Path

import pytest

from prunecli.context.render import INTERRUPTED
from prunecli.model.events import UserMessage
from prunecli.model.messages import Text
from prunecli.runtime import Runtime
from prunecli.runtime.user_shell import shell
from prunecli.util.errors import ToolError
from tests.starting import start
from tests.waiting import until

COMMAND = "echo one; echo two; sleep 1000"


def commands(runtime: Runtime) -> list[list[str]]:
    return [
        [block.text for block in one.event.content if isinstance(block, Text)]
        for one in runtime.session.records
        if isinstance(one.event, UserMessage)
    ]


async def stopped(runtime: Runtime, *, show_model: bool) -> list[str]:
    """Runs the command until it has printed something, then stops it; what it said of itself."""
    shown: list[str] = []
    printed: list[str] = []
    running = asyncio.ensure_future(
        shell(runtime, COMMAND, show_model=show_model, progress=shown.append, so_far=printed.append)
    )
    await until(lambda: "two" in "".join(shown))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    return printed


async def test_a_stopped_command_is_recorded_with_what_it_had_printed(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    await stopped(runtime, show_model=True)
    assert commands(runtime) == [[f"!{COMMAND}", f"one\ntwo\n{INTERRUPTED}"]]
    assert runtime.session.path is not None
    assert not runtime.session.path.with_suffix(".running").exists()
    await runtime.close()


async def test_a_stopped_command_that_the_model_does_not_see_is_handed_back(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    printed = await stopped(runtime, show_model=False)
    assert printed[-1] == "one\ntwo\n"
    assert commands(runtime) == []
    await runtime.close()


async def test_a_command_that_could_not_start_is_not_recorded(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    with pytest.raises(ToolError):
        await shell(runtime, "echo " + "x" * 10_000_000, show_model=True)
    assert commands(runtime) == []
    assert runtime.session.running.key == ""
    await runtime.close()


async def test_an_entry_restored_meanwhile_does_not_end_the_command(tmp_path: Path) -> None:
    runtime = start(tmp_path)
    running = asyncio.ensure_future(shell(runtime, COMMAND, show_model=True))
    await until(lambda: "two" in runtime.session.running.text)
    runtime.emit(UserMessage((Text("/restore 3"), Text("old")), "command", (3,)))
    assert runtime.session.running.key == f"!{COMMAND}"
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert commands(runtime)[-1] == [f"!{COMMAND}", f"one\ntwo\n{INTERRUPTED}"]
    await runtime.close()
