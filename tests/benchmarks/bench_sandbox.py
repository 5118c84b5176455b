"""What the sandbox adds to a command: `python -m tests.benchmarks.bench_sandbox [COMMANDS]`. At most 15 ms."""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.sandbox.confining import boxed, chosen_here
from tests.tools.calling import Caller

ALLOWED_MS = 15.0


async def times(callers: Sequence[Caller], count: int) -> list[list[float]]:
    """Milliseconds of each of so many commands that do nothing, by one caller after the other: a busy machine slows
    all of them alike."""
    taken: list[list[float]] = [[] for _ in callers]
    for _ in range(count):
        for caller, figures in zip(callers, taken, strict=True):
            begun = time.perf_counter()
            await caller.output("bash", command="true")
            figures.append((time.perf_counter() - begun) * 1000)
    return [sorted(figures) for figures in taken]


def main() -> int:
    """Print the figures; 1 if the sandbox costs too much."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory() as folder, boxed(Path(folder), chosen_here()) as box:
        for number in range(200):
            (box.context.workspace / f"d{number}").mkdir()
        bare, inside = asyncio.run(times((Caller(box.context.workspace), box), count))
    for name, figures in (("bare", bare), (chosen_here().word, inside)):
        print(f"{name}: fastest {figures[0]:.1f} ms, p50 {statistics.median(figures):.1f} ms")
    middle = statistics.median(inside) - statistics.median(bare)
    added = inside[0] - bare[0]  # other work on the machine only adds
    print(f"added: fastest {added:.1f} ms (at most {ALLOWED_MS:g}), p50 {middle:.1f} ms")
    return int(added > ALLOWED_MS)


if __name__ == "__main__":
    raise SystemExit(main())
