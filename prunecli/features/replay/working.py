"""Replays many sessions with one process per core. Each process replays one session at a time.

So the largest sessions bound the memory. Large files come first, so that none is left for a single process at the
end. Results are returned as they become ready.

Each process has its own pipe and shares no lock with others. If one is killed, as the kernel does when memory runs
out, its pipe ends, which tells whose session failed, and only that is left out; a `multiprocessing.Pool` would wait
forever. A worker has no state worth saving, so it is stopped with SIGKILL, which also ends a suspended process.
"""

import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from threading import Thread
from typing import Any, Generic, NamedTuple, TypeVar

from prunecli.features.replay.replay import Stage
from prunecli.session.importers.remote import SessionFile
from prunecli.util.errors import PrunecliError, UnknownFormat

_INTERRUPTS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class Worker:
    """A process that makes a stage, then runs a job on the paths that it is given.

    `path` is the current one. It is None until the process is ready, and when it has nothing left to do.
    """

    def __init__(self, make: Callable[[], Stage], job: Callable[[Stage, SessionFile], Any]) -> None:
        self.path: SessionFile | None = None
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        with theirs:  # then only the process has it open, so it closes when the process ends
            self._process = context.Process(target=_work, args=(theirs, make, job), daemon=True)
            self._process.start()

    def give(self, path: SessionFile | None) -> None:
        """Give it the next path, or nothing more to do."""
        self.path = path
        try:
            if path:
                self.connection.send(path)
        except OSError:
            pass  # it has ended, which `take` reports

    def take(self) -> Any:
        """Return the result of its job, or None if it is ready for the first.

        Raises EOFError if it has ended, and PrunecliError if it could not make the stage.
        """
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):  # perhaps in the middle of a result
            self._process.join()
            raise EOFError from None
        if isinstance(answer, PrunecliError):
            raise answer
        return answer

    @property
    def signal(self) -> int:
        """The number of the signal that ended it, or 0 if it ended otherwise."""
        return max(0, -(self._process.exitcode or 0))

    @property
    def end(self) -> str:
        """How it ended, in words."""
        code = self._process.exitcode or 0
        return f"was ended (signal {-code})" if code < 0 else f"failed (exit code {code})"


def start(workers: list[Worker], make: Callable[[], Stage], job: Callable[[Stage, SessionFile], Any]) -> None:
    """Start a worker. An interrupt waits until the worker is in the list, so that it can be stopped.

    Raises PrunecliError if the system refuses another process.
    """
    try:
        ensure_running()  # starting it later would unblock SIGINT
        with _uninterrupted():
            workers.append(Worker(make, job))
    except OSError as error:
        raise PrunecliError(
            f"cannot start a process: {error.strerror}", "close other programs, then try again"
        ) from None


def stop(workers: list[Worker]) -> None:
    """End all workers at once."""
    with _uninterrupted():
        for worker in workers:
            worker._process.kill()
    for worker in workers:
        worker._process.join()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold back the signals that interrupt the work. Other threads must block them, or they would get them."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _work(
    connection: Connection, make: Callable[[], Stage], job: Callable[[Stage, SessionFile], Any]
) -> None:
    """Run the job in a process of its own. Sends None when it is ready, then a result for each path."""
    Thread(target=_end_with_parent, daemon=True).start()
    # The signals are blocked, as they were in the parent. Ctrl+C stays so, because the parent handles it.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS - {signal.SIGINT})
    try:
        stage = make()
    except PrunecliError as error:
        connection.send(PrunecliError(error.message, error.hint))  # some subclasses cannot be sent
        return
    answer = None
    while True:
        try:
            connection.send(answer)
            path = connection.recv()
        except (EOFError, OSError):  # the parent has ended
            return
        answer = job(stage, path)


def _end_with_parent() -> None:
    """End this process when its parent ends, even in the middle of a session."""
    if parent := parent_process():
        parent.join()
        os._exit(1)


Result = TypeVar("Result")
Place = TypeVar("Place")
FEWEST = 4
"""Minimum sessions for starting processes. With fewer, starting would take longer than it saves."""


class Outcome(NamedTuple, Generic[Result]):
    """The result of a session, or the problem that prevented it. `foreign`: the file is in no known format."""

    path: SessionFile
    result: Result | None
    problem: str = ""
    foreign: bool = False


def each_session(
    paths: Sequence[SessionFile],
    make: Callable[[], Stage],
    job: Callable[[Stage, SessionFile], Result],
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
            yield done(job, stage, path)
        return
    run = partial(done, job)
    left = sorted(paths, key=size_of)
    workers: list[Worker] = []
    try:
        for _ in range(count):
            start(workers, make, run)
        while left or any(worker.path for worker in workers):
            ready = wait([worker.connection for worker in workers])
            for worker in [one for one in workers if one.connection in ready]:
                try:
                    outcome = worker.take()
                except EOFError:
                    workers.remove(worker)
                    outcome = _failure(worker, needed=bool(left) and not workers)
                    if outcome and left:
                        start(workers, make, run)
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


def size_of(path: SessionFile) -> int:
    try:
        return path.stat().st_size if isinstance(path, Path) else path.size
    except OSError:
        return 0


def done(job: Callable[[Place, SessionFile], Result], stage: Place, path: SessionFile) -> Outcome[Result]:
    try:
        return Outcome(path, job(stage, path))
    except PrunecliError as error:
        return Outcome(path, None, str(error), isinstance(error, UnknownFormat))
    except OSError as error:
        return Outcome(path, None, f"{path}: {error.strerror or error}")
