"""Replays many sessions in as many processes as there are cores, one session at a time in each.

A process holds one session, so memory is bounded by the largest ones. Results come in the order of the sessions.
"""

import os
import signal
from collections.abc import Callable, Generator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prunecli.errors import PrunecliError
from prunecli.replay.stage import Replayed, Stage

if TYPE_CHECKING:
    from multiprocessing.pool import Pool

FEWEST = 4
"""With fewer sessions, starting processes would take longer than they save."""


class Outcome(NamedTuple):
    """What came of a session: its figures, or why it could not be replayed."""

    path: Path
    replayed: Replayed | None
    problem: str = ""


def replay_all(
    paths: Sequence[Path], make: Callable[[], Stage], processes: int | None = None
) -> Generator[Outcome, None, None]:
    """Replay the sessions. `make` is called once in each process, so it has to be a function of a module.

    Closing the iterator, as an interrupt does, stops all processes at once.
    """
    count = min(processes or os.cpu_count() or 1, len(paths))
    if count < 2 or len(paths) < FEWEST:
        stage = make()
        for path in paths:
            yield _replayed(stage, path)
        return
    pool = get_context("spawn").Pool(count, _begin, (make,))
    try:
        yield from pool.imap(_one, _longest_first(paths))
        pool.close()
    finally:
        _stop(pool)


def _longest_first(paths: Sequence[Path]) -> list[Path]:
    """Large files first, so that none of them is left over for one process at the end."""
    return sorted(paths, key=_size, reverse=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _stop(pool: "Pool") -> None:
    pool.terminate()
    pool.join()


_stage: list[Stage] = []
"""The stage of a worker process."""


def _begin(make: Callable[[], Stage]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops its processes itself
    _stage.append(make())


def _one(path: Path) -> Outcome:
    return _replayed(_stage[0], path)


def _replayed(stage: Stage, path: Path) -> Outcome:
    try:
        return Outcome(path, stage.replay(path))
    except (PrunecliError, OSError) as error:
        return Outcome(path, None, str(error))
