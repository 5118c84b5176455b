"""A disk whose syncs take long: whatever waits for it, the loop goes on."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.runtime import Runtime
from prunecli.runtime.user_shell import shell
from prunecli.session.session import Session
from prunecli.session.writer import LogWriter
from tests.scripted import says
from tests.starting import start

SETS = ("compaction.keep_first_turns=0", "compaction.keep_recent_turns=1")
ACTS: dict[str, Callable[[Runtime], Awaitable[object]]] = {
    "a prompt": lambda runtime: runtime.submit("go"),
    "a command of the user's": lambda runtime: shell(runtime, "echo hi", show_model=True),
    "a summary": lambda runtime: runtime.compact(),
}


@pytest.mark.parametrize("what", ACTS)
async def test_while_a_sync_lasts_the_loop_goes_on(tmp_path: Path, what: str) -> None:
    script = [says("word " * 200), says("word " * 200), says("The gist."), says("And more.")]
    runtime = start(tmp_path, script, sets=SETS)
    loop, slow = asyncio.get_running_loop(), [False]

    def sync(_: int) -> None:
        """Waits for something that only the loop can do."""
        if slow[0]:
            done = threading.Event()
            loop.call_soon_threadsafe(done.set)
            turns.append(done.wait(10))

    turns: list[bool] = []
    old = runtime.session
    runtime.switch(
        Session(
            old.started,
            Context(Chars4()),
            path=old.path,
            clock=runtime.setup.clock,
            open_log=lambda path: LogWriter(path, sync=sync),
        )
    )
    await runtime.submit("one")
    await runtime.submit("two")
    slow[0] = True
    await ACTS[what](runtime)
    assert turns
    assert all(turns), "the loop waited for the disk"
    slow[0] = False
    await runtime.close()
