"""How long a key waits while every sync of the disk takes two seconds (goal: p95 at most 50 ms).

`python -m tests.benchmarks.bench_slow_sync [runs]`: the program in a pseudo-terminal under strace, which lets each
fdatasync and fsync return two seconds late; the demo model runs its tour, in which each
tool call waits for a sync, and a key is typed every 60 ms. Runs with and without the delay take turns. Compile
bytecode first.
Nothing is asserted: machines differ.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.terminal import KEYS, Terminal

DELAY_SECONDS = 2
PACE_SECONDS = 0.06
SYNCS = "fdatasync,fsync"
WORK = "tour"


class Run(NamedTuple):
    """One run: echoes in ms, how many syncs were late, and seconds that the keys took."""

    echoes: list[float]
    late: int
    seconds: float


def run(delay_seconds: int) -> Run:
    """Lets the model work and types all keys meanwhile."""
    with tempfile.TemporaryDirectory() as home:
        traced = Path(home) / "traced"
        under = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", str(traced), "-e", f"trace={SYNCS}"]
        if delay_seconds:
            under += ["-e", f"inject={SYNCS}:delay_exit={delay_seconds * 1_000_000}"]
        words = ["--trust", "--model", "demo", "--permission-mode", "auto"]
        terminal = Terminal("prunecli", words, home, under=under)
        terminal.until("for commands", 30)
        terminal.quiet(1.0)
        terminal.type(WORK)
        terminal.quiet(0.3)
        terminal.type("\r")
        begun = time.perf_counter()
        echoes = []
        for key in KEYS:
            terminal.type(key)
            waited = terminal.until(key, 5)
            echoes.append(5_000.0 if waited is None else waited * 1000)
            terminal.quiet(max(0.0, PACE_SECONDS - (waited or 0)), PACE_SECONDS)
        seconds = time.perf_counter() - begun
        late = traced.read_text().count("DELAYED")
        terminal.close()
    return Run(echoes, late, seconds)


def line(name: str, runs: list[Run]) -> None:
    """The figures of some runs."""
    echoes = sorted(echo for one in runs for echo in one.echoes)
    print(
        f"  {name:<16} echo ({len(echoes)} keys) median {statistics.median(echoes):5.1f} p95 "
        f"{echoes[int(len(echoes) * 0.95)]:5.1f} worst {echoes[-1]:5.1f} ms  "
        f"{sum(one.late for one in runs)} late syncs in {sum(one.seconds for one in runs):.0f} s"
    )


def main() -> None:
    """Prints the figures."""
    count = int(sys.argv[1]) if sys.argv[1:] else 3
    late, plain = [], []
    for _ in range(count):
        late.append(run(DELAY_SECONDS))
        plain.append(run(0))
    print(f"{count} runs each, load {os.getloadavg()[0]:.1f}")
    line(f"syncs of {DELAY_SECONDS} s", late)
    line("syncs as they are", plain)


if __name__ == "__main__":
    main()
