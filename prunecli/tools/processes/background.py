"""A command in the background: its state, its kept output, and how to end it.

Its supervisor stores the output and the end in a private folder (`Kept` in supervise.py). So nothing is lost while
the program is busy, and a later program can examine a detached command.
"""

import errno
import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from prunecli.tools.files.decoding import decoded
from prunecli.tools.processes.command import Ended, Moved
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular, read_regular

CAP = 8 * 1024 * 1024
"""Maximum bytes of output kept of one command; older output is dropped."""
_CHUNK = 65_536
_STEP = 0.02
_LAST = 4_096
_OUTPUT = re.compile(r"out\.([0-9]{1,18})\.([0-9]{1,18})")
_PID = re.compile(rb"[1-9][0-9]{0,8}")
_PID_FILE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@frozen
class Part:
    """A part of the kept output: its bytes, the number of its first line, and its start and end in the whole
    output."""

    data: bytes
    first_line: int
    start: int
    end: int


class KeptOutput:
    """The output of one command, in the folder that its supervisor writes to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def order(self, data: bytes, size: int, lines: int, seconds: float, cap: int = CAP) -> bytes:
        """Return the order that tells a supervisor to keep a command's output here.

        `data` is the end of the `size` bytes and `lines` lines printed so far. Raises OSError.
        """
        if data:
            name = f"out.{size - len(data)}.{lines - data.count(bytes([10]))}"
            descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:
                file.write(data)
        words = (str(self.folder), str(cap), f"{seconds:g}", str(size), str(lines))
        return b"B" + "\0".join(words).encode("utf-8", "surrogateescape") + b"\n"

    def part(self, start: int) -> Part:
        """Return the kept output from this offset on, or from the first kept byte."""
        data, at, line = bytearray(), -1, 0
        for offset, lines, path in self._files():
            with suppress(OSError):  # deleted meanwhile
                text = read_regular(path, follow=False)
                if offset + len(text) <= start:
                    at, line = offset + len(text), lines + text.count(b"\n")
                    continue
                if not data:
                    skipped = text[: max(0, start - offset)]
                    at, line, text = offset + len(skipped), lines + skipped.count(b"\n"), text[len(skipped) :]
                data += text
        return Part(bytes(data), line + 1, max(at, 0), max(at, 0) + len(data))

    def tail(self, size: int) -> bytes:
        data = b""
        for _, _, path in reversed(self._files()):
            with suppress(OSError), open_regular(path, follow=False) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - size + len(data)))
                data = file.read() + data
            if len(data) >= size:
                break
        return data[-size:]

    def last_line(self) -> str:
        lines = [line for line in decoded(self.tail(_LAST)).splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def _files(self) -> list[tuple[int, int, Path]]:
        try:
            names = filter(None, map(_OUTPUT.fullmatch, os.listdir(self.folder)))
        except OSError:
            return []
        return sorted((int(name[1]), int(name[2]), self.folder / name[0]) for name in names)

    def noted_end(self) -> Ended | None:
        """Return the end of the command recorded by its supervisor; None if there is no record."""
        try:
            status, timed_out = read_regular(self.folder / "end", follow=False).split()
            code = None if int(status) < 0 else os.waitstatus_to_exitcode(int(status))
        except (OSError, ValueError, OverflowError):
            return None
        return Ended(code, timed_out == b"1")

    @property
    def was_detached(self) -> bool:
        return os.path.exists(self.folder / "detached")

    def supervisor(self) -> int:
        """Return the process id of its supervisor, 0 if it no longer runs."""
        try:
            descriptor = os.open(self.folder / "pid", _PID_FILE)
        except OSError:
            return 0
        try:
            os.lockf(descriptor, os.F_TEST, 0)
        except OSError as error:
            if error.errno in (
                errno.EACCES,
                errno.EAGAIN,
            ):  # locked by the supervisor, which is therefore running
                pid = _PID.fullmatch(os.read(descriptor, 20))
                return int(pid[0]) if pid else 0
        finally:
            os.close(descriptor)
        return 0


class Child:
    """A command in the background that this program started.

    `on_end` is called once, by `look`, when the command and its processes are over.
    """

    def __init__(self, moved: Moved, output: KeptOutput, on_end: Callable[[], object] = lambda: None) -> None:
        self.output = output
        self.on_end = on_end
        self.over: Ended | None = None
        self.stopped = False
        self._control = moved.control
        self._told = moved.told

    def look(self) -> None:
        """Read the messages from the supervisor, without waiting."""
        while self.over is None:
            try:
                data = self._control.recv(_CHUNK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._end()
                return
            self._told.add(data)

    def _end(self) -> None:
        noted = self.output.noted_end()
        told = self._told
        code = 127 if told.failed else told.exit_code
        self.over = Ended(code, bool(noted and noted.timed_out), told.left, told.stuck)
        self._control.close()
        self.on_end()

    def stop(self, *, now: bool = False) -> None:
        """Ask the supervisor to end the command: gently, or `now`."""
        self.look()
        if self.over is None:
            self.stopped = True
            self._order(b"K" if now else b"T")

    @property
    def pid(self) -> int:
        return self._told.supervisor

    def detach(self) -> None:
        """Let the command outlive the program."""
        self._order(b"D")

    def _order(self, order: bytes) -> None:
        with suppress(OSError):  # the supervisor is gone, as `look` will see
            self._control.send(order)


def stop_detached(output: KeptOutput, seconds: float) -> bool:
    """End a command that an earlier program detached; return whether it ended in time."""
    if pid := output.supervisor():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while output.supervisor() and time.monotonic() < deadline:
        time.sleep(_STEP)
    return not output.supervisor()


def wait_for_detached(output: KeptOutput, seconds: float) -> None:
    """Wait until the supervisor of a detached command has recorded that: until then, a later program would consider
    the command ended."""
    deadline = time.monotonic() + seconds
    while not (output.was_detached or output.noted_end()) and time.monotonic() < deadline:
        time.sleep(_STEP)
