"""Runs a command in its own session under a supervisor, and passes its output on as it arrives.

`run` returns when the command and everything it started have ended, when the time is up, or when the reader has
enough; if canceled, it ends all processes first.
"""

import asyncio
import atexit
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from prunecli.model.codec import well_formed
from prunecli.tools.processes.sandboxing import Overlay
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

CHUNK = 65_536
DRAIN = 0.3
"""Seconds to wait for output after the command has ended, while a process that it started holds the pipe open."""
PATIENCE = 3.0
"""Seconds beyond the grace period to wait for the supervisor before it is abandoned with its processes."""
_LAST_CHUNKS = 16
"""Maximum chunks to read from the pipe at the end, because a process that cannot be ended may write forever."""

INTERPRETER = os.path.realpath(sys.executable)
"""The interpreter for the start programs. It is not the link in a virtual environment, which may be in the
workspace."""
HERE = str(Path(__file__).parent)


def start_words(folder: str, module: str, main: str = "main") -> list[str]:
    """Return the words that run a function of a module in a folder, in an interpreter of its own.

    The module is imported instead of run as a script, so that its bytecode is cached. This saves 3 ms for each start.
    """
    code = f"import sys; sys.path.insert(0, sys.argv.pop(1)); import {module}; {module}.{main}()"
    return [INTERPRETER, "-I", "-S", "-c", code, folder]


@frozen
class Ended:
    """The end of a command.

    `exit_code` is negative for a signal, and None if unknown (ended by prunecli, or the supervisor died). `left` are
    the command lines of processes that outlived the command and were ended. `stuck` is the number of processes that
    could not be ended.
    """

    exit_code: int | None
    timed_out: bool = False
    left: tuple[str, ...] = ()
    stuck: int = 0


class Report:
    """What the supervisor of a command has told: its process and the command's, why that could not be started (`E`,
    `W`, `O` in supervise.py), and the fields of `Ended`."""

    def __init__(self) -> None:
        self.supervisor = self.pid = self.stuck = 0
        self.failed = b""
        self.exit_code: int | None = None
        self.left: tuple[str, ...] = ()
        self._rest = b""

    def add(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            kind, value = line[:1], line[1:]
            match kind:
                case b"S":
                    self.supervisor = int(value)
                case b"P":
                    self.pid = int(value)
                case b"E" | b"W" | b"O":
                    self.failed = line
                case b"X":
                    self.exit_code = os.waitstatus_to_exitcode(int(value))
                case b"L" if value and self.exit_code is not None:
                    self.left = tuple(well_formed(os.fsdecode(name)) for name in value.split(b"\0"))
                case b"F":
                    self.stuck = int(value)


@frozen
class Moved:
    """A command in the background: what its supervisor has told, and the socket to it."""

    told: Report
    control: socket.socket


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    take: Callable[[bytes], bool],
    time_limit: float,
    grace: float = 1.0,
    descriptors: Sequence[int] = (),
    overlays: Sequence[Overlay] = (),
    enough: "asyncio.Future[None] | None" = None,
) -> Ended:
    """Run `argv` (which starts with an absolute path) and pass its standard output and error to `take` in chunks.

    `take` returns False to end the command. `time_limit` and `grace` (from TERM to KILL) are in seconds. The command
    inherits `descriptors`, and sees `overlays` over some folders. It is ended when `enough` is done. Raises ToolError
    if it cannot be started.
    """
    watch = _Watch(_start(argv, cwd, env, grace, descriptors, overlays=overlays), take, enough)
    try:
        await watch.until_over(time_limit)
    finally:
        await watch.end(grace)
    return _ended(watch, argv[0], cwd)


async def run_movable(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    take: Callable[[bytes], bool],
    time_limit: float,
    grace: float,
    descriptors: Sequence[int],
    moving: "asyncio.Future[None] | None",
    order: Callable[[], bytes],
    overlays: Sequence[Overlay] = (),
    enough: "asyncio.Future[None] | None" = None,
) -> Ended | Moved:
    """Run a command like `run`, until `moving` is done; then it continues in the background (None: never).

    `order` returns the order for its supervisor (`B...` in supervise.py). Raises ToolError, including when `order`
    fails; the command is then ended.
    """
    process = _start(argv, cwd, env, grace, descriptors, movable=moving is not None, overlays=overlays)
    watch = _Watch(process, take, enough)
    moved: Moved | None = None
    try:
        await watch.until_over(time_limit, moving)
        if moving and moving.done() and not watch.is_over:
            moved = watch.move(order())
    finally:
        if moved is None:
            await watch.end(grace)
    return moved or _ended(watch, argv[0], cwd)


def _ended(watch: "_Watch", program: str, cwd: Path) -> Ended:
    told = watch.told
    if told.failed:
        raise ToolError(_why_not_started(told.failed, program, cwd))
    return Ended(told.exit_code, watch.timed_out, told.left, told.stuck)


def _why_not_started(failed: bytes, program: str, cwd: Path) -> str:
    number = int(failed[1:])
    if number == errno.E2BIG:
        return "The command is too long for the system: write it to a file and run that."
    if failed.startswith(b"W"):
        why = "cannot be entered" if os.path.exists(cwd) else "no longer exists"
        return f"The working directory {well_formed(str(cwd))} {why}."
    if failed.startswith(b"O"):
        return "The working directory can't be overlaid here, so that nothing is changed."
    return f"{program} could not be started: {os.strerror(number)}"


@frozen
class _Server:
    """The interpreter that forks supervisors, and the socket to it."""

    process: subprocess.Popen[bytes]
    socket: socket.socket
    program: int

    def close(self) -> None:
        """End the interpreter, but no supervisor."""
        self.socket.close()
        if self.program == os.getpid():
            self.process.kill()
            self.process.wait()


_servers: list[_Server] = []
"""At most one. Starting an interpreter takes longer than most commands, so it is kept until the program ends."""
_sending = threading.Lock()


@atexit.register
def _forget() -> None:
    while _servers:
        _servers.pop().close()


def _server() -> _Server:
    """Return the interpreter that forks supervisors, and start it if it does not run. Raises OSError."""
    if _servers and _servers[0].program == os.getpid() and _servers[0].process.poll() is None:
        return _servers[0]
    _forget()
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            start_words(HERE, "supervise"),
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )
    _servers.append(_Server(process, ours, os.getpid()))
    return _servers[0]


def get_ready() -> None:
    """Start what the first command would wait for."""
    with suppress(OSError), _sending:  # the first command tells
        _server()


@frozen
class _Started:
    """A command's socket to its supervisor, and the pipe of its output."""

    control: socket.socket
    output: int


def _start(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    grace: float,
    descriptors: Sequence[int],
    *,
    movable: bool = False,
    overlays: Sequence[Overlay] = (),
) -> _Started:
    """Give the command to a supervisor. Raises ToolError."""
    mounts = [path for overlay in overlays for path in (overlay.folder, overlay.upper, overlay.work)]
    counts = str(len(argv)), str(len(mounts))
    words = (f"{grace:g}", "1" if movable else "0", " ".join(map(str, descriptors)), *counts, str(cwd))
    fields = [*words, *mounts, *argv, *(f"{name}={value}" for name, value in env.items())]
    if any("\0" in field for field in fields):
        raise ToolError("The command cannot be run: it contains a NUL character.")
    try:
        data = b"".join(os.fsencode(field) + b"\0" for field in fields)
    except ValueError as error:
        raise ToolError(f"The command cannot be run: {error}.") from error
    control, theirs = socket.socketpair()
    reader, writer = os.pipe()
    try:
        _send(data, [theirs.fileno(), writer, reader, *descriptors])
    except OSError as error:
        control.close()
        os.close(reader)
        raise ToolError(f"The command could not be started: {error.strerror}.") from error
    finally:
        theirs.close()
        os.close(writer)
    os.set_blocking(reader, False)
    control.setblocking(False)
    return _Started(control, reader)


def _send(data: bytes, descriptors: list[int]) -> None:
    """Send a command to the interpreter that forks supervisors; once more if that was killed. Raises OSError."""
    with _sending:
        for last in (False, True):
            try:
                server = _server()
                socket.send_fds(server.socket, [b"%016d" % len(data)], descriptors)
                server.socket.sendall(data)
                return
            except OSError:
                _forget()
                if last:
                    raise


class _Watch:
    """The readers of one command's output and of its supervisor's messages."""

    def __init__(
        self, process: _Started, take: Callable[[bytes], bool], enough: "asyncio.Future[None] | None" = None
    ) -> None:
        self.told = Report()
        self.timed_out = False
        self._process = process
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._exited = self._loop.create_future()
        self._closed = self._loop.create_future()
        self._silent = self._loop.create_future()
        self._enough = enough or self._loop.create_future()
        self._given_up = self._loop.create_future()
        self._loop.add_reader(process.output, self._on_output)
        self._loop.add_reader(process.control, self._on_control)

    @property
    def is_over(self) -> bool:
        """Whether the command has ended, or the reader has enough."""
        return any(end.done() for end in (self._exited, self._closed, self._enough))

    def move(self, order: bytes) -> Moved:
        """Leave the command to its supervisor. Raises ToolError if the supervisor is gone."""
        try:
            self._process.control.sendall(order)
        except OSError as error:
            raise ToolError("The command's supervisor is gone.") from error
        self._loop.remove_reader(self._process.output)
        self._loop.remove_reader(self._process.control)
        os.close(self._process.output)
        return Moved(self.told, self._process.control)

    async def until_over(self, time_limit: float, moving: "asyncio.Future[None] | None" = None) -> None:
        """Wait until the command ends or is to be moved, the reader has enough, or `time_limit` seconds pass."""
        ends = {self._exited, self._closed, self._enough, *([moving] if moving else ())}
        done, _ = await asyncio.wait(ends, timeout=time_limit, return_when=asyncio.FIRST_COMPLETED)
        self.timed_out = not done
        if self._exited.done():
            rest = {self._silent, self._closed}
            await asyncio.wait(rest, timeout=DRAIN, return_when=asyncio.FIRST_COMPLETED)

    async def end(self, grace: float) -> None:
        """End all remaining processes and wait for them. A cancellation only speeds this up."""
        self._order(b"K" if self._enough.done() else b"S" if self._exited.done() else b"T")
        deadline = self._loop.time() + grace + PATIENCE
        canceled = False
        over = {self._closed, self._given_up}
        while not any(end.done() for end in over) and (rest := deadline - self._loop.time()) > 0:
            try:
                await asyncio.wait(over, timeout=rest, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                canceled = True
                self._order(b"K")
        self._finish()
        if canceled:
            raise asyncio.CancelledError

    def _order(self, order: bytes) -> None:
        if not self._closed.done():
            try:
                self._process.control.send(order)
            except OSError:
                pass  # the supervisor is gone, as `_on_control` will see

    def _finish(self) -> None:
        self._loop.remove_reader(self._process.output)
        self._loop.remove_reader(self._process.control)
        for _ in range(_LAST_CHUNKS):
            if self._silent.done() or not self._on_output():
                break
        os.close(self._process.output)
        self._process.control.close()
        if self._closed.done() and not self._exited.done() and self.told.pid:
            with suppress(ProcessLookupError):  # the kernel ended the command with its supervisor
                os.killpg(self.told.pid, signal.SIGKILL)

    def _on_output(self) -> bool:
        try:
            data = os.read(self._process.output, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(self._process.output)
            self._silent.set_result(None)
        elif not self._enough.done() and not self._take(data):
            self._enough.set_result(None)
        return bool(data)

    def _on_control(self) -> None:
        try:
            data = self._process.control.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._process.control)
            self._closed.set_result(None)
            return
        self.told.add(data)
        if self.told.exit_code is not None and not self._exited.done():
            self._exited.set_result(None)
        if self.told.stuck and not self._given_up.done():
            self._given_up.set_result(None)
