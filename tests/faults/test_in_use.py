"""Two processes and one session: exactly one writes, the other is told who does and what it can do instead."""

import multiprocessing
import os
import signal
import subprocess
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from prunecli.cli.launch import exit_code
from prunecli.front.headless.run import EXIT_SESSION
from prunecli.model.events import Record, SessionStarted, UserMessage
from prunecli.model.messages import Text
from prunecli.runtime.make import make_runtime
from prunecli.session.loading import LONG_BYTES
from prunecli.session.log import read_log
from prunecli.session.writer import LogWriter
from prunecli.util.errors import SessionLocked, SessionReadOnly
from prunecli.util.launch_options import Launch
from tests import preloaded
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
SPAWN = multiprocessing.get_context("spawn")


def racer(path: str, races: int, pipe: Connection) -> None:
    """In each race both try to open the same file at the same moment and to write to it."""
    for race in range(races):
        pipe.recv()
        try:
            log = LogWriter(Path(path))
        except SessionLocked as locked:
            pipe.send(("lost", locked.pid))
        else:
            size = Path(path).stat().st_size
            if not size:
                log.append(Record(0, 1, SessionStarted("s", "/w", "m")))
            log.append(Record(race + 1, race + 2, UserMessage((Text("x"),))))
            pipe.send(("won", os.getpid()))
            pipe.recv()
            log.close()
        pipe.send("ready")


def races(path: Path, count: int) -> int:
    """Two race for a file so many times, and each time one wins; how many records stand in it then."""
    pipes, processes = [], []
    for _ in range(2):
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=racer, args=(str(path), count, theirs))
        process.start()
        pipes.append(ours)
        processes.append(process)
    for _ in range(count):
        for pipe in pipes:
            pipe.send("go")
        told = [pipe.recv() for pipe in pipes]
        assert sorted(what for what, _ in told) == ["lost", "won"]
        winner = next(pid for what, pid in told if what == "won")
        assert next(pid for what, pid in told if what == "lost") in (winner, None)
        pipes[[what for what, _ in told].index("won")].send("let go")
        assert [pipe.recv() for pipe in pipes] == ["ready", "ready"]
    for process in processes:
        process.join(30)
    loaded = read_log(path)
    assert loaded.bad == []
    return len(loaded.records)


@pytest.mark.parametrize("count", [50, pytest.param(1_000, marks=pytest.mark.long)])
def test_of_two_that_open_a_session_at_once_one_wins(tmp_path: Path, count: int) -> None:
    assert races(tmp_path / "s.jsonl", count) == count + 1


def environ(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder / "home"),
        "PRUNECLI_HOME": str(folder / "data"),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
    }


def prunecli(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return preloaded.run(words, cwd=folder, env=environ(folder))


def a_session(folder: Path) -> Path:
    done = prunecli(folder, "-p", "hello", "--model", "demo")
    assert done.returncode == 0, done.stderr
    (path,) = (folder / "data" / "sessions").glob("*/*.jsonl")
    return path


def test_headless_is_refused_with_the_way_out_and_a_copy_is_not(tmp_path: Path) -> None:
    """Exit 4, the process named; a copy is free, and so is the session when its process is gone."""
    path = a_session(tmp_path)
    log = LogWriter(path)
    refused = prunecli(tmp_path, "-p", "more", "--model", "demo", "--resume", path.stem)
    assert refused.returncode == EXIT_SESSION
    assert f"process {os.getpid()}" in refused.stderr
    assert "--fork" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 2
    before = path.read_bytes()
    copy = prunecli(tmp_path, "-p", "more", "--model", "demo", "--resume", path.stem, "--fork")
    assert copy.returncode == 0, copy.stderr
    assert path.read_bytes() == before
    log.close()
    again = prunecli(tmp_path, "-p", "more", "--model", "demo", "--resume", path.stem)
    assert again.returncode == 0, again.stderr


def test_a_view_is_read_and_never_written(tmp_path: Path) -> None:
    """While another process writes."""
    path = a_session(tmp_path)
    log = LogWriter(path)
    before = path.read_bytes(), sorted(path.parent.iterdir())
    runtime = make_runtime(Launch(cwd=tmp_path, flags={"--model": "demo"}), environ(tmp_path))
    session = runtime.open_session(path, writable=False)
    assert session.context.items
    with pytest.raises(SessionReadOnly, match="read-only") as caught:
        session.emit(UserMessage((Text("no"),)))
    assert exit_code(caught.value) == EXIT_SESSION
    session.close()
    assert (path.read_bytes(), sorted(path.parent.iterdir())) == before
    log.close()


def test_a_long_session_in_use_can_be_looked_at_too(tmp_path: Path) -> None:
    """One that is read in steps."""
    path = a_session(tmp_path)
    log = LogWriter(path)
    seq = len(read_log(path).records)
    for number in range(300):
        log.append(Record(seq + number, 2**42 + number, UserMessage((Text("words " * 500),))))
    before = path.read_bytes()
    assert len(before) > LONG_BYTES
    runtime = make_runtime(Launch(cwd=tmp_path, flags={"--model": "demo"}), environ(tmp_path))
    with pytest.raises(SessionLocked):
        runtime.resume(path)
    runtime.resume(path, writable=False)
    assert runtime.resuming is not None
    for _ in runtime.resuming.steps():
        pass
    session = runtime.resuming.finish()
    assert session.read_only
    assert len(session.records) == seq + 300
    assert path.read_bytes() == before
    log.close()


def forking(path: str, pipe: Connection) -> None:
    log = LogWriter(Path(path))
    log.append(Record(0, 1, SessionStarted("s", "/w", "m")))
    child = os.fork()
    if child == 0:
        signal.pause()
    pipe.send(child)
    signal.pause()


def test_a_file_that_a_forked_child_keeps_open_is_in_use(tmp_path: Path) -> None:
    """The process that took the lock is gone, a child that it forked holds it."""
    path = tmp_path / "s.jsonl"
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=forking, args=(str(path), theirs))
    process.start()
    child = ours.recv()
    try:
        process.kill()
        process.join()
        with pytest.raises(SessionLocked) as caught:
            LogWriter(path)
        assert caught.value.pid is None, "the process that took the lock is gone"
    finally:
        os.kill(child, signal.SIGKILL)
    wait_until(lambda: opens(path))


def opens(path: Path) -> bool:
    """Whether the lock is free; the holder's name can be gone a moment before its lock."""
    try:
        LogWriter(path).close()
    except SessionLocked:
        return False
    return True
