"""How long a key waits while everything else loads, and how soon the demo model's first word follows Enter.

`python -m tests.benchmarks.bench_typing`: the program in a pseudo-terminal, a key every 60 ms for eight seconds from
the first frame on; each key is one that nothing else on the screen has. Compile bytecode first.
"""

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEYS = [chr(code) for code in range(0x1F1, 0x1F1 + 120)]
"""Letters of a far script: each is typed once, so that its echo can't be taken for another's."""


class Typist:
    """The program in a terminal of 80 by 24."""

    def __init__(self, home: str, *words: str, **more: str) -> None:
        environ = {
            "HOME": home,
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            **more,
        }
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execve(sys.executable, [sys.executable, "-m", "prunecli", "--trust", *words], environ)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def until(self, text: str, within: float) -> float | None:
        """Seconds until the text was written to the terminal, None if it was not."""
        begun, seen = time.perf_counter(), b""
        wanted = text.encode()
        while (left := begun + within - time.perf_counter()) > 0:
            if select.select([self.terminal], [], [], left)[0]:
                seen += os.read(self.terminal, 65_536)
                if wanted in seen:
                    return time.perf_counter() - begun
        return None

    def type(self, text: str) -> None:
        """Types the text at once."""
        os.write(self.terminal, text.encode())

    def close(self) -> None:
        """Ends the program."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def echoes(home: str) -> list[float]:
    """Milliseconds from each key to its echo."""
    typist = Typist(home, ANTHROPIC_API_KEY="sk-ant-x", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    typist.until("Ask, or", 10)
    found = []
    for key in KEYS:
        typist.type(key)
        waited = typist.until(key, 2)
        found.append(2_000.0 if waited is None else waited * 1000)
        time.sleep(max(0.0, 0.06 - (waited or 0)))
    typist.close()
    return found


def first_word(home: str) -> float:
    """Milliseconds from Enter to the demo model's first word."""
    typist = Typist(home, "--model", "demo")
    typist.until("Ask, or", 10)
    typist.until("nothing writes this", 2.5)
    typist.type("hello")
    typist.until("nothing writes this", 0.5)
    typist.type("\r")
    waited = typist.until("demo model", 5)
    typist.close()
    return 5_000.0 if waited is None else waited * 1000


def main() -> None:
    """Prints the figures."""
    with tempfile.TemporaryDirectory() as home:
        echoes(home)
        found = sorted(echoes(home))
        p95, middle = found[int(len(found) * 0.95)], statistics.median(found)
        print(f"key echo while all loads: median {middle:.0f} ms, p95 {p95:.0f}, worst {found[-1]:.0f}")
        words = [first_word(home) for _ in range(5)]
        middle, worst = statistics.median(words), max(words)
        print(f"first word of the demo model after Enter: median {middle:.0f} ms, worst {worst:.0f}")


if __name__ == "__main__":
    main()
