"""Starts a program under a guard, which ends it with all of its processes, also if prunecli is killed: a server that
stays, or a filter from standard input to standard output."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from prunecli.tools.processes.command import HERE, Report, start_words
from prunecli.util.frozen import frozen
from prunecli.util.programs import find_program

CHUNK = 65_536
GRACE = 1.5
"""Seconds that a server has to end after its input was closed, and again after SIGTERM."""
PATIENCE = 3.0
"""Seconds beyond that to wait for the guard."""


class Guarded:
    """A running program. `told` is what its guard has told."""

    def __init__(self, guard: asyncio.subprocess.Process, control: socket.socket) -> None:
        if guard.stdin is None or guard.stdout is None or guard.stderr is None:
            raise OSError("the program was started without pipes")
        self.input, self.output, self.errors = guard.stdin, guard.stdout, guard.stderr
        self.told = Report()
        self._guard = guard
        self._control = control
        self._ended = asyncio.Event()
        self._heard = asyncio.ensure_future(self._listen())

    async def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while data := await asyncio.get_running_loop().sock_recv(self._control, 65_536):
                self.told.add(data)
                if self.told.exit_code is not None:
                    self._ended.set()
        self._ended.set()

    async def ends_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)
        return self._ended.is_set()

    async def end(self) -> None:
        """End the program and all processes that it started, first gently: it has been told by the end of its
        input."""
        order = b"S" if await self.ends_within(GRACE) else b"T"
        with contextlib.suppress(OSError):
            self._control.send(order)
        await asyncio.wait({self._heard}, timeout=GRACE + PATIENCE)
        if self.told.exit_code is None and self.told.pid:  # the guard was killed
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.told.pid, signal.SIGKILL)
        self._heard.cancel()
        await asyncio.gather(self._heard, return_exceptions=True)
        self._control.close()
        now = asyncio.get_running_loop().time
        until = now() + PATIENCE
        while self._guard.returncode is None and now() < until:  # noqa: ASYNC110  # `wait` may wait for the pipes too
            await asyncio.sleep(0.005)
        transport = getattr(self._guard, "_transport", None)  # garbage collection closes it with a warning
        if transport is not None:
            transport.close()


async def start(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], longest: int, descriptors: Sequence[int] = ()
) -> Guarded:
    """Start a program, found on the PATH of its environment, which inherits `descriptors`. Reading a line of its
    output that is longer than `longest` bytes raises ValueError. Raises OSError."""
    program = argv[0] if "/" in argv[0] else find_program(env.get("PATH", os.defpath), argv[0])
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    control, theirs = socket.socketpair()
    control.setblocking(False)
    keep_locale = "1" if "LC_CTYPE" in env else "0"
    words = (str(theirs.fileno()), str(GRACE), keep_locale, program, *argv[1:])
    try:
        guard = await asyncio.create_subprocess_exec(
            *start_words(HERE, "supervise", "guard"),
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
            pass_fds=(theirs.fileno(), *descriptors),
            limit=longest,
        )
    except BaseException:
        control.close()
        raise
    finally:
        theirs.close()
    return Guarded(guard, control)


class _TooMuch(Exception):
    """A filter wrote more than is read."""


@frozen
class Filtered:
    """What a filter wrote. `exit_code` is negative for a signal, and None if it was ended."""

    exit_code: int | None
    output: bytes
    errors: bytes


async def filtered(
    argv: Sequence[str],
    data: bytes,
    *,
    cwd: Path,
    env: Mapping[str, str],
    most: int,
    descriptors: Sequence[int] = (),
) -> Filtered:
    """Run a program with `data` on its standard input until it ends. It is ended once it wrote `most` bytes to one of
    its outputs, or if this is canceled. Raises OSError."""
    program = await start(argv, cwd, env, CHUNK, descriptors)

    async def give() -> None:
        with contextlib.suppress(OSError):  # it need not read
            program.input.write(data)
            await program.input.drain()
        program.input.close()

    async def take(stream: asyncio.StreamReader, into: bytearray) -> None:
        while len(into) < most and (more := await stream.read(CHUNK)):
            into += more
        if len(into) >= most:
            raise _TooMuch

    output, errors = bytearray(), bytearray()
    parts = give(), take(program.output, output), take(program.errors, errors)
    work = [asyncio.ensure_future(part) for part in parts]
    try:
        with contextlib.suppress(_TooMuch):
            await asyncio.gather(*work)
        ended = max(len(output), len(errors)) < most and await program.ends_within(GRACE)
        return Filtered(program.told.exit_code if ended else None, bytes(output), bytes(errors))
    finally:
        for task in work:
            task.cancel()
        await asyncio.shield(program.end())
