"""What listing, finding and searching many sessions takes: without an index, with one, and after a few have grown.

`python -m tests.benchmarks.bench_listing [counts]`: sessions of some 20 KB each, by default 1,000 and 10,000. In
seconds, medians of five where it is warm; "cold" is the first time ever, which reads every file.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from prunecli.session.session_search import Hit, search
from prunecli.session.store import INDEX_NAME, Store
from tests.benchmarks.long_sessions import events, write

DIRECTORIES = 20


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def warm(work: Callable[[], object]) -> float:
    """The median of five."""
    return statistics.median(seconds(work) for _ in range(5))


def grow(paths: list[Path]) -> None:
    """Appends a few lines to each."""
    for path in paths:
        with path.open("ab") as file:
            file.write(path.read_bytes()[-600:].split(b"\n", 1)[1])


def measure(root: Path, count: int) -> None:
    """Makes so many sessions and prints what they take."""
    store = Store(root / "sessions")
    paths = []
    for number in range(count):
        cwd = root / f"project-{number % DIRECTORIES}"
        path = store.new_path(cwd, f"20260101-{number:06d}")
        write(path, events(8, 1_600, str(cwd), path.stem, 0))
        paths.append(path)
    size = sum(path.stat().st_size for path in paths) / 1e6
    here = root / "project-3"
    cold = seconds(store.list)
    always, one = warm(store.list), warm(lambda: store.list(here))
    grow(paths[:20])
    grown = seconds(store.list)
    last, found = warm(lambda: store.last(here)), warm(lambda: store.find(paths[count // 2].stem))
    rare = warm(lambda: [hit for hit in search(paths, "nowhere-to-be-found") if isinstance(hit, Hit)])
    index = (store.root / INDEX_NAME).stat().st_size / 1e6
    print(
        f"{count:,} sessions, {size:.0f} MB: cold {cold:.2f} s · warm {always:.3f} · one directory {one:.3f} · "
        f"20 grown {grown:.3f} · last {last:.3f} · by id {found:.3f} · search for a rare word {rare:.2f} · "
        f"index {index:.1f} MB",
        flush=True,
    )


def main() -> None:
    """Prints the figures."""
    for count in map(int, sys.argv[1:] or ("1000", "10000")):
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), count)


if __name__ == "__main__":
    main()
