"""Runs hooks: each in its own process group, with JSON on standard input, a time limit and bounded output."""

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from prunecli.features.hooks.replies import Ran
from prunecli.features.hooks.settings import Hook
from prunecli.model.messages import Json
from prunecli.tools.processes.command import CHUNK, run
from prunecli.tools.processes.environment import shell_in
from prunecli.tools.processes.output import HeadAndTail
from prunecli.util.errors import ToolError
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = lazy("tempfile")

MAX_OUTPUT = 200_000
"""Maximum bytes kept of each of a hook's outputs; the rest is read and dropped."""
GRACE = 0.5
"""Seconds between asking a hook to end and ending it."""

_REDIRECT = 'exec "$3" -c "$4" <"/dev/fd/$1" 2>"/dev/fd/$2"'
"""The script that opens input and error output for a hook, because the supervisor of commands provides only one
output."""


def chosen(hooks: Iterable[Hook], event: str, *names: str) -> list[Hook]:
    """Return the matching hooks of an event. A command that is listed twice runs once, as listed first."""
    found = dict[str, Hook]()
    for hook in hooks:
        if hook.event == event and hook.matches(*names):
            found.setdefault(hook.command, hook)
    return list(found.values())


async def run_hook(hook: Hook, given: Mapping[str, Json], *, cwd: Path, env: Mapping[str, str]) -> Ran:
    """Run a hook until it ends or its time is up. Raises only a cancellation, which ends the hook first."""
    begun = monotonic()

    def ended(code: int | None, out: str = "", err: str = "", problem: str = "") -> Ran:
        return Ran(code, out, err, round((monotonic() - begun) * 1000), problem)

    out, err = HeadAndTail(MAX_OUTPUT), HeadAndTail(MAX_OUTPUT)
    try:
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(given).encode("ascii"))
            file.seek(0)
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            loop = asyncio.get_running_loop()
            loop.add_reader(reader, _reading(reader, err))
            try:
                shell = shell_in(env)
                end = await run(
                    [shell, "-c", _REDIRECT, "hook", str(file.fileno()), str(writer), shell, hook.command],
                    cwd=cwd,
                    env=env,
                    take=_taking(out),
                    time_limit=hook.timeout,
                    grace=GRACE,
                    descriptors=(file.fileno(), writer),
                )
            finally:
                loop.remove_reader(reader)
                os.close(writer)
                while _reading(reader, err)():
                    pass
                os.close(reader)
    except (ToolError, OSError) as error:
        return ended(None, problem=f"could not be started: {error}")
    if end.timed_out:
        return ended(None, problem=f"no answer within {hook.timeout:g} s, so it was stopped")
    if end.exit_code is None:
        return ended(None, problem="its exit status is unknown")
    return ended(end.exit_code, out.text(MAX_OUTPUT)[0], err.text(MAX_OUTPUT)[0])


def _reading(descriptor: int, output: HeadAndTail) -> Callable[[], bool]:
    """Return a function that reads the next bytes of a pipe and returns whether there were any."""

    def read() -> bool:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return False
        output.add(data)
        return bool(data)

    return read


def _taking(output: HeadAndTail) -> Callable[[bytes], bool]:
    def take(data: bytes) -> bool:
        output.add(data)
        return True

    return take
