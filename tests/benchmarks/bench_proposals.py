"""What a trial adds to a command in the sandbox: `python -m tests.benchmarks.bench_proposals [COMMANDS [FILES]]`.

20,000 files; the layer is begun, used, frozen and dropped. At most 25 ms (p50). And how much is copied.
"""

import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prunecli.safety.proposals.changes import freeze
from tests.benchmarks.bench_snapshots import made
from tests.proposals.laying import Trial, chosen_here, inside, trial

ALLOWED_MS = 25.0


async def times(one: Trial, command: str, count: int) -> tuple[list[float], list[float], int]:
    """Milliseconds of a command in the sandbox and on a layer, in turns: a busy machine slows both alike."""
    plain, tried, files = list[float](), list[float](), 0
    for _ in range(count):
        begun = time.perf_counter()
        await inside(one, one.walls.confine(granted=True), command)
        plain.append((time.perf_counter() - begun) * 1000)
        begun = time.perf_counter()
        await one.run(command)
        freeze(one.layer)
        before = time.perf_counter() - begun
        files = sum(len(names) for _, _, names in os.walk(one.layer.upper(one.layer.roots[0])))
        begun = time.perf_counter()
        one.drop()
        tried.append((before + time.perf_counter() - begun) * 1000)
    return plain, tried, files


def main() -> int:
    """Print the figures; 1 if a trial costs too much."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    with tempfile.TemporaryDirectory() as folder, trial(Path(folder), chosen_here(Path(folder))) as one:
        paths = made(one.workspace, size, random.Random(7))
        subprocess.run(["git", "init", "-q"], cwd=one.workspace, check=True)
        subprocess.run(["git", "add", "."], cwd=one.workspace, check=True)
        worst = 0.0
        for name, command in (("nothing", "true"), ("one line", f"echo x >> '{paths[0]}'; cat '{paths[1]}'")):
            asyncio.run(times(one, command, 3))
            plain, tried, files = asyncio.run(times(one, command, count))
            middles = statistics.median(plain), statistics.median(tried)
            added, least = middles[1] - middles[0], min(tried) - min(plain)
            worst = max(worst, added)
            print(f"{name}: sandbox p50 {middles[0]:.1f} ms, trial p50 {middles[1]:.1f} ms")
            print(f"  added: p50 {added:.1f} ms (at most {ALLOWED_MS:g}), fastest {least:.1f} ms")
            print(f"  files copied up: {files}")
    return int(worst > ALLOWED_MS)


if __name__ == "__main__":
    raise SystemExit(main())
