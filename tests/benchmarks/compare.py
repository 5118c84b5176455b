"""Compares this checkout with another: a start, the first byte of the first headless request, and a turn.

`python -m tests.benchmarks.compare OTHER [rounds]`; OTHER is a folder with the other commit, made by `git worktree
add OTHER COMMIT`. Both run with this interpreter and in turns, so that a busy machine is as bad for both. Each figure
is the median of the rounds; the last column is the change.
"""

import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.bench_start import ROOT, run_of, start_of

HEADLESS = """
import asyncio, json, statistics
from tests.benchmarks.bench_headless import first_byte, turns
found = {"first byte, headless": first_byte(1)[0] * 1000}
for before in (0, 200):
    found[f"a turn after {before} messages"] = statistics.median(asyncio.run(turns(before)))
print(json.dumps(found))
"""


def environ_of(root: Path, home: str) -> dict[str, str]:
    """The environment of a checkout."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ANTHROPIC"))}
    environ |= {"HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(root)}
    return environ


def measured(root: Path, home: str) -> dict[str, float]:
    """Milliseconds of one round of a checkout, by name."""
    environ = environ_of(root, home)
    ours = [sys.executable, "-m", "prunecli"]
    found = {
        "start": start_of(ours, environ, home) * 1000,
        "--version": run_of([*ours, "--version"], environ, home) * 1000,
    }
    done = subprocess.run(
        [sys.executable, "-c", HEADLESS], env=environ, cwd=root, capture_output=True, check=True
    )
    return found | json.loads(done.stdout)


def main() -> None:
    """Measures both in turns and prints medians."""
    roots = [Path(sys.argv[1]).resolve(), ROOT]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    with tempfile.TemporaryDirectory() as folder:
        homes = [tempfile.mkdtemp(dir=folder) for _ in roots]
        for root, home in zip(roots, homes, strict=True):
            compileall.compile_dir(root / "prunecli", quiet=2)
            compileall.compile_dir(root / "tests", quiet=2)
            start_of(
                [sys.executable, "-m", "prunecli"], environ_of(root, home), home, stay=4.0
            )  # saves its colors
            measured(root, home)  # the first one ever is slower
        times: list[list[dict[str, float]]] = [[], []]
        for number in range(rounds):
            for which in (0, 1) if number % 2 else (1, 0):
                times[which].append(measured(roots[which], homes[which]))
    for name in times[0][0]:
        other, here = (statistics.median(one[name] for one in found) for found in times)
        print(f"{name:28} other {other:7.1f} ms   here {here:7.1f} ms   {here / other - 1:+.1%}")


if __name__ == "__main__":
    main()
