"""What saving the files of a directory costs. Run as a script.

    python tests/benchmarks/bench_snapshots.py [files ...]

A git repository with so many files of 20 to 200 lines is saved a first time, then ROUNDS times after each of three
kinds of change: none, one file, a hundred files; and it is brought back from the last. `git add` of everything and
`git status` right after a change, in the same repository, stand beside it for comparison. Milliseconds, median
and worst; only the first one reads every file. Nothing here is asserted: machines differ.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from prunecli.features.rewind.restoring import restore
from prunecli.features.rewind.snapshots import Snapshots

SIZES = (1_000, 5_000, 20_000)
ROUNDS = 15


def main() -> None:
    """Prints a line for each size."""
    for size in [int(word) for word in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder).resolve(), size)


def measure(folder: Path, size: int) -> None:
    """Measures one repository."""
    work, chance = folder / "work", random.Random(7)
    paths = made(work, size, chance)
    git = ["git", "-c", "user.name=u", "-c", "user.email=u@example.org"]
    took = [
        timed(lambda words=words: subprocess.run([*git, *words], cwd=work, check=True))
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"])
    ]
    store = Snapshots(folder / "snapshots", work, os.environ, folder / "home")
    first = timed(store.save)
    print(f"{size:>7,} files   git add {took[1]:6.0f}   first {first:6.0f} ms", end="")
    before = store.save()
    for name, count in (("nothing changed", 0), ("1 file", 1), ("100 files", 100)):
        times = []
        for _ in range(ROUNDS):
            change(chance.sample(paths, min(count, size)), chance)
            times.append(timed(store.save))
        print(f"   {name} {statistics.median(times):5.0f} (worst {max(times):4.0f})", end="")
    (changes,) = store.changes([(store.save().tree, before.tree)])
    print(
        f"   back {timed(lambda: restore(store, changes, threading.Event())):6.0f} for {len(changes)}", end=""
    )
    change(chance.sample(paths, 1), chance)
    status = timed(
        lambda: subprocess.run(["git", "status", "--porcelain"], cwd=work, capture_output=True, check=True)
    )
    print(f"   git status {status:5.0f}")


def made(work: Path, size: int, chance: random.Random) -> list[Path]:
    """The files."""
    paths = []
    for number in range(size):
        path = work / f"d{number % 50}" / f"e{number % 7}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(f"line {chance.random()}" for _ in range(chance.randint(20, 200))))
        paths.append(path)
    return paths


def change(paths: list[Path], chance: random.Random) -> None:
    """A line more in each."""
    for path in paths:
        with path.open("a") as file:
            file.write(f"changed {chance.random()}\n")


def timed(work: Callable[[], object]) -> float:
    """Milliseconds that it took."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    main()
