"""Replays many sessions with one process per core. Each process replays one session at a time.

So the largest sessions bound the memory. Large files come first, so that none is left for a single process at the
end. Results are returned as they become ready.

If the process of a session is killed, only this session is left out (`worker.py`).
"""

import os
import signal
from collections.abc import Callable, Generator, Sequence
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from prunecli.errors import PrunecliError, UnknownFormat
from prunecli.replay.stage import Stage
from prunecli.replay.worker import Worker, start, stop

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
    Raises PrunecliError if a process cannot start.
    """
    count = min(processes or os.cpu_count() or 1, len(paths))
    if count < 2 or len(paths) < FEWEST:
        stage = make()
        for path in paths:
            yield _done(job, stage, path)
        return
    done = partial(_done, job)
    left = sorted(paths, key=_size)
    workers: list[Worker] = []
    try:
        for _ in range(count):
            start(workers, make, done)
        while left or any(worker.path for worker in workers):
            ready = wait([worker.connection for worker in workers])
            for worker in [one for one in workers if one.connection in ready]:
                try:
                    outcome = worker.take()
                except EOFError:
                    workers.remove(worker)
                    outcome = _failure(worker, needed=bool(left) and not workers)
                    if outcome and left:
                        start(workers, make, done)
                else:
                    worker.give(left.pop() if left else None)
                if outcome:
                    yield outcome
    finally:
        stop(workers)


def _failure(worker: Worker, *, needed: bool) -> Outcome[Any] | None:
    """Return the problem with the session of a worker that has ended, if it had one.

    If it was killed while it started, the others go on without it, unless it is needed. Otherwise raises
    PrunecliError, because further ones would fail as well.
    """
    if worker.path:
        why = ", perhaps because memory ran out" if worker.signal == signal.SIGKILL else ""
        return Outcome(worker.path, None, f"{worker.path}: the process that replayed it {worker.end}{why}")
    if needed or not worker.signal:
        hint = (
            "close other programs to free memory, then try again" if worker.signal else "the reason is above"
        )
        raise PrunecliError(f"a process that replays sessions {worker.end} while it started", hint)
    return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _done(job: Callable[[Stage, Path], Result], stage: Stage, path: Path) -> Outcome[Result]:
    try:
        return Outcome(path, job(stage, path))
    except PrunecliError as error:
        return Outcome(path, None, str(error), isinstance(error, UnknownFormat))
    except OSError as error:
        return Outcome(path, None, f"{path}: {error.strerror or error}")
