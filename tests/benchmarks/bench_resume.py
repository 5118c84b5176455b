"""How soon a long session is usable, how long reading it takes behind the prompt, what that does to keys and memory.

`python -m tests.benchmarks.bench_resume [rounds]`: the program in a pseudo-terminal with `--continue`, on sessions
of 60, 10,000 and 50,000 entries and of 100,000 records (about 100 MB), each with a compaction whenever some 200,000
tokens are full, and the last one also without any. Bytecode is compiled first. "typed" is from exec to the echo of a
key that was typed at once, "usable" to the end of the session on the screen and the echo of a key typed then; "all
read" to the moment when the progress line is gone, without and with somebody typing 16 keys a second. A bare Textual
application is started in turns with it, so that a busy machine shows.
"""

import compileall
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import sysconfig
import tempfile
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path

from prunecli.safety.trust import TrustStore
from prunecli.util.paths import Places
from tests.benchmarks.bench_start import BARE, ENTERED, start_of
from tests.benchmarks.long_sessions import session_file

ROOT = Path(__file__).parents[2]
LAST_WORDS = "That was the last one."
READING = "Reading the session"
KEYS = [chr(code) for code in range(0x1F1, 0x1F1 + 300)]
"""Letters of a far script: each is typed once, so that its echo can't be taken for another's."""
SESSIONS = {
    "60 entries": {"entries": 60, "result_bytes": 700},
    "10,000 entries": {"entries": 10_000, "result_bytes": 700},
    "50,000 entries": {"entries": 50_000, "result_bytes": 700},
    "100,000 records": {"entries": 48_900, "result_bytes": 3_200},
    "the same without compactions": {"entries": 48_900, "result_bytes": 3_200, "compact_every": 0},
}


@dataclass
class Run:
    """What one start gave: seconds, milliseconds of each key's echo while it read, MB."""

    typed: float
    usable: float
    all_read: float
    memory: float
    echoes: list[float] = field(default_factory=list)


class Watched:
    """The program in a terminal of 100 by 30; everything that it writes is kept with its time."""

    def __init__(self, home: str, cwd: Path, data: Path) -> None:
        environ = {
            "HOME": home,
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
        }
        environ |= {"PRUNECLI_HOME": str(data), "COLORTERM": "truecolor"}
        self.begun = time.perf_counter()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(sys.executable, [sys.executable, "-m", "prunecli", "--continue"], environ)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.seen = b""
        self.last_reading = 0.0

    def wait(self, text: str = "", within: float = 20.0) -> float:
        """Seconds from the start until the text is written, or until the time is over."""
        deadline, wanted, start = time.perf_counter() + within, text.encode(), max(0, len(self.seen) - 100)
        while (left := deadline - time.perf_counter()) > 0:
            if wanted and wanted in self.seen[start:]:
                break
            if select.select([self.terminal], [], [], left)[0]:
                more = os.read(self.terminal, 65_536)
                self.seen += more
                if READING.encode() in self.seen[-len(more) - 30 :]:
                    self.last_reading = time.perf_counter() - self.begun
        return time.perf_counter() - self.begun

    def echo(self, key: str) -> float:
        """Seconds until a key that is typed now stands on the screen."""
        typed = time.perf_counter()
        os.write(self.terminal, key.encode())
        return self.begun + self.wait(key) - typed

    @property
    def reading(self) -> bool:
        """Whether the progress line was drawn within the last half second."""
        return time.perf_counter() - self.begun - self.last_reading < 0.5

    @property
    def memory(self) -> float:
        """Resident memory in MB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> None:
        """Ends the program."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def prepare(home: str, cwd: Path, data: Path) -> None:
    """The trusted directory that lets a plain `--continue` begin without a question. The model is the demo."""
    places = Places.of({"HOME": home, "PRUNECLI_HOME": str(data)})
    places.config.mkdir(parents=True, exist_ok=True)
    TrustStore(places.trust_store).trust(cwd)


def run(home: str, cwd: Path, data: Path, *, typing: bool) -> Run:
    """Starts with --continue; types while it reads, or lets it read alone."""
    watched = Watched(home, cwd, data)
    try:
        os.write(watched.terminal, KEYS[0].encode())
        watched.wait(ENTERED.decode())
        watched.seen = watched.seen[
            watched.seen.find(ENTERED) :
        ]  # before that it is the terminal that echoes
        typed = watched.wait(KEYS[0])
        watched.wait(LAST_WORDS)
        watched.echo(KEYS[1])
        usable = time.perf_counter() - watched.begun
        watched.wait(within=0.3)
        echoes: list[float] = []
        while watched.reading and len(echoes) < 290:
            if typing:
                echoes.append(watched.echo(KEYS[2 + len(echoes)]) * 1000)
            watched.wait(within=max(0.01, 0.06 - (echoes[-1] / 1000 if echoes else 0)))
        all_read = max(usable, watched.last_reading)
        watched.wait(within=2.0)
        return Run(typed, usable, all_read, watched.memory, echoes)
    finally:
        watched.close()


def main() -> None:
    """Prints the figures."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    compileall.compile_dir(ROOT / "prunecli", quiet=2)
    for name in ("textual", "rich"):
        compileall.compile_dir(Path(sysconfig.get_paths()["purelib"]) / name, quiet=2)
    with tempfile.TemporaryDirectory() as home:
        cwd = Path(home) / "work"
        cwd.mkdir()
        for name, sizes in SESSIONS.items():
            data = Path(home) / name
            size = session_file(data, cwd, **sizes).stat().st_size / 1e6
            prepare(home, cwd, data)
            run(home, cwd, data, typing=False)
            bare, alone, busy = list[float](), list[Run](), list[Run]()
            for _ in range(rounds):
                bare.append(start_of([sys.executable, "-c", BARE], dict(os.environ) | {"HOME": home}, home))
                alone.append(run(home, cwd, data, typing=False))
                busy.append(run(home, cwd, data, typing=True))
            report(f"{name}, {size:.0f} MB", bare, alone, busy)


def report(name: str, bare: list[float], alone: list[Run], busy: list[Run]) -> None:
    """Medians of the rounds."""
    middle = statistics.median
    both = [*alone, *busy]
    base, usable = middle(bare), middle(one.usable for one in both)
    echoes = sorted(echo for one in busy for echo in one.echoes) or [0.0]
    print(
        f"{name}\n  bare Textual {base:.2f} s · typed {middle(one.typed for one in both):.2f} s · "
        f"usable {usable:.2f} s ({usable / base:.1f} x bare)\n"
        f"  all read {middle(one.all_read for one in alone):.1f} s, with typing "
        f"{middle(one.all_read for one in busy):.1f} s · memory {middle(one.memory for one in both):.0f} MB\n"
        f"  key echo meanwhile: median {middle(echoes):.0f} ms, p95 {echoes[int(len(echoes) * 0.95)]:.0f}, "
        f"worst {echoes[-1]:.0f} ({len(echoes)} keys)",
        flush=True,
    )


if __name__ == "__main__":
    main()
