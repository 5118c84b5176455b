"""Moving about in a long session, in the whole program: Page Up, Page Down, the beginning, the end; memory; idling.

`python -m tests.benchmarks.bench_paging [presses]`: the program in a pseudo-terminal of 120 by 40, continuing
sessions of 10,000 and 50,000 entries that were read to their end. A move's time is from the key to the last byte
drawn for it. Sessions take turns, so that what else the machine does concerns both.
Compile bytecode first.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.long_sessions import session_file
from tests.benchmarks.terminal import Terminal

ENTRIES = (10_000, 50_000)
MOVES = {"Page Up": "\x1b[5~", "Page Down": "\x1b[6~", "beginning": "\x1b[1;5H", "end": "\x1b[1;5F"}
IDLE_SECONDS = 5.0
FRAME_SECONDS = 0.004
"""When nothing was drawn for so long the frame is complete."""


def opened(home: str, entries: int) -> Terminal:
    """The program with a session of so many entries, read to its end."""
    cwd, data = Path(home) / f"work{entries}", Path(home) / f"data{entries}"
    cwd.mkdir()
    session_file(data, cwd, entries=entries, result_bytes=700)
    words = ["--trust", "--continue", "--model", "demo"]
    terminal = Terminal("prunecli", words, home, {"PRUNECLI_HOME": str(data)}, cwd=str(cwd))
    terminal.until("That was the last one.", 30)
    terminal.quiet(2.5, 60)
    return terminal


def move(terminal: Terminal, key: str) -> float:
    """Milliseconds from the key to the last byte of the frame."""
    begun = last = time.perf_counter()
    terminal.type(key)
    terminal.read(2.0)
    last = time.perf_counter()
    while terminal.read(FRAME_SECONDS):
        last = time.perf_counter()
    return (last - begun) * 1000


def main() -> None:
    """Prints the figures."""
    presses = int(sys.argv[1]) if sys.argv[1:] else 100
    taken: dict[tuple[int, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as home:
        terminals = {entries: opened(home, entries) for entries in ENTRIES}
        memory = {entries: terminal.megabytes() for entries, terminal in terminals.items()}
        for _ in range(presses):
            for entries, terminal in terminals.items():
                taken.setdefault((entries, "Page Up"), []).append(move(terminal, MOVES["Page Up"]))
        for _ in range(presses):
            for entries, terminal in terminals.items():
                taken.setdefault((entries, "Page Down"), []).append(move(terminal, MOVES["Page Down"]))
        for _ in range(presses // 4):
            for name in ("beginning", "end"):
                for entries, terminal in terminals.items():
                    taken.setdefault((entries, name), []).append(move(terminal, MOVES[name]))
        for entries, terminal in terminals.items():
            terminal.quiet(1.0, 5)
            cpu = terminal.cpu()
            begun = time.perf_counter()
            while (left := begun + IDLE_SECONDS - time.perf_counter()) > 0:
                terminal.read(left)
            idle = (terminal.cpu() - cpu) / IDLE_SECONDS
            now = terminal.megabytes()
            print(
                f"{entries:,} entries, load {os.getloadavg()[0]:.1f}: memory {memory[entries]:.0f} MB, "
                f"{now:.0f} after all moves; idle CPU {idle * 100:.1f} %"
            )
            for name in MOVES:
                times = sorted(taken[entries, name])
                print(
                    f"  {name:<10} median {statistics.median(times):5.1f} p95 {times[int(len(times) * 0.95)]:5.1f} "
                    f"worst {times[-1]:5.1f} ms"
                )
            terminal.close()


if __name__ == "__main__":
    main()
