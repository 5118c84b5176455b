"""What the sandbox adds to a command: `python -m tests.benchmarks.bench_sandbox [COMMANDS]`. At most 15 ms."""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.sandbox.confining import boxed, chosen_here
from tests.tools.calling import Caller

ALLOWED_MS = 15.0


async def times(caller: Caller, count: int) -> list[float]:
    """Milliseconds of each of so many commands that do nothing."""
    taken = []
    for _ in range(count):
        begun = time.perf_counter()
        await caller.output("bash", command="true")
        taken.append((time.perf_counter() - begun) * 1000)
    return sorted(taken)


def main() -> int:
    """Print the figures; 1 if the sandbox costs too much."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory() as folder, boxed(Path(folder), chosen_here()) as box:
        for number in range(200):
            (box.context.workspace / f"d{number}").mkdir()
        bare = asyncio.run(times(Caller(box.context.workspace), count))
        inside = asyncio.run(times(box, count))
    for name, figures in (("bare", bare), (chosen_here().word, inside)):
        print(f"{name}: fastest {figures[0]:.1f} ms, p50 {statistics.median(figures):.1f} ms")
    added = inside[0] - bare[0]  # the fastest, because other work on the machine only adds
    print(f"added: {added:.1f} ms (at most {ALLOWED_MS:g})")
    return int(added > ALLOWED_MS)


if __name__ == "__main__":
    raise SystemExit(main())
