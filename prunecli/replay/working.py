"""Replays many sessions with one process per core. Each process replays one session at a time.

So the largest sessions bound the memory. Large files come first, so that none is left for a single process at the
end. Results are returned as they become ready.
"""

import os
import signal
from collections.abc import Callable, Generator, Sequence
from multiprocessing import get_context
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from prunecli.errors import PrunecliError, UnknownFormat
from prunecli.replay.stage import Stage

if TYPE_CHECKING:
    from multiprocessing.pool import Pool

Result = TypeVar("Result")
FEWEST = 4
"""Minimum sessions for starting processes. With fewer, starting would take longer than it saves."""


class Outcome(NamedTuple, Generic[Result]):
    """The result of a session, or the problem that prevented it. `foreign`: the file is in no known format."""

    path: Path
    result: Result | None
    problem: str = ""
    foreign: bool = False


def each_session(
    paths: Sequence[Path],
    make: Callable[[], Stage],
    job: Callable[[Stage, Path], Result],
    processes: int | None = None,
) -> Generator[Outcome[Result], None, None]:
    """Run a job on each session. `make` is called once in each process. Both must be module-level functions.

    Closing the iterator, as an interrupt does, stops all processes at once.
    """
    count = min(processes or os.cpu_count() or 1, len(paths))
    if count < 2 or len(paths) < FEWEST:
        stage = make()
        for path in paths:
            yield _done(job, stage, path)
        return
    ensure_running()  # starting it later would unblock SIGINT
    # The processes inherit the mask, so only this one handles Ctrl+C. It waits until they have started.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        pool = get_context("spawn").Pool(count, _begin, (make, job))
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            yield from pool.imap_unordered(_one, _longest_first(paths))
            pool.close()
        finally:
            _stop(pool)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _longest_first(paths: Sequence[Path]) -> list[Path]:
    """Return the paths with large files first, so that none is left for a single process at the end."""
    return sorted(paths, key=_size, reverse=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _stop(pool: "Pool") -> None:
    pool.terminate()
    pool.join()


_work: list[tuple[Callable[[Stage, Path], Any], Stage]] = []
"""The job of a worker process, with its stage."""


def _begin(make: Callable[[], Stage], job: Callable[[Stage, Path], Any]) -> None:
    _work.append((job, make()))


def _one(path: Path) -> Outcome[Any]:
    return _done(*_work[0], path)


def _done(job: Callable[[Stage, Path], Result], stage: Stage, path: Path) -> Outcome[Result]:
    try:
        return Outcome(path, job(stage, path))
    except PrunecliError as error:
        return Outcome(path, None, str(error), isinstance(error, UnknownFormat))
    except OSError as error:
        return Outcome(path, None, f"{path}: {error.strerror or error}")
