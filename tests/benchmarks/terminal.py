"""A program in a pseudo-terminal, as a person sees it: keys go in, and what it draws comes out."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEYS = [chr(code) for code in range(0x1F1, 0x1F1 + 120)] + [chr(code) for code in range(0x13A0, 0x13F0)]
"""Letters of far scripts: each is typed once, so that its echo can't be taken for another's."""


class Terminal:
    """Runs `python -m MODULE WORDS` in a terminal of so many columns and rows; `under` is what runs it."""

    def __init__(
        self,
        module: str,
        words: Sequence[str],
        home: str,
        more: Mapping[str, str] = {},
        size: tuple[int, int] = (120, 40),
        cwd: str = "",
        under: Sequence[str] = (),
    ) -> None:
        kept = {
            key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL", "TEXTUAL_FPS") if key in os.environ
        }
        environ = {"HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(cwd or home)
            arguments = [*under, sys.executable, "-m", module, *words]
            os.execvpe(arguments[0], arguments, {**environ, **kept, **more})
        self.seen = b""
        self.resize(*size)

    def resize(self, columns: int, rows: int) -> None:
        """Another size."""
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str) -> None:
        """Types a text at once."""
        os.write(self.file, text.encode())

    def read(self, seconds: float) -> bytes:
        """What it draws within so many seconds, as soon as it draws something; kept in `seen` too."""
        if not select.select([self.file], [], [], max(0.0, seconds))[0]:
            return b""
        data = os.read(self.file, 1 << 20)
        self.seen = (self.seen + data)[-400_000:]
        return data

    def until(self, text: str, within: float) -> float | None:
        """Seconds until the text is drawn, beginning with what is drawn from now on; None if it is not."""
        begun, wanted, self.seen = time.perf_counter(), text.encode(), b""
        while wanted not in self.seen:
            left = begun + within - time.perf_counter()
            if left <= 0:
                return None
            self.read(left)
        return time.perf_counter() - begun

    def quiet(self, seconds: float, within: float = 30.0) -> None:
        """Waits until nothing was drawn for so long, or for `within` seconds."""
        end = time.perf_counter() + within
        while self.read(seconds) and time.perf_counter() < end:
            pass

    def megabytes(self) -> float:
        """Memory of the program now."""
        with open(f"/proc/{self.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu(self) -> float:
        """Seconds of processor that it took so far."""
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """Ends the program and what runs it."""
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        with suppress(OSError):  # the end: the last of them has let go of the terminal
            while os.read(self.file, 1 << 20):
                pass
        os.close(self.file)
