"""File systems without locks: it is said, and two writers of one session destroy nothing of each other."""

import errno
import os
import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import Event, Record, SessionStarted, UserMessage
from prunecli.model.messages import Text
from prunecli.model.signals import FileMoved, Notice
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.writer import LogWriter
from prunecli.util.errors import SessionLocked, StorageFailed

RUNS = int(os.environ.get("PRUNECLI_TWO_WRITERS", "150"))
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)


def no_locks(code: int = errno.ENOLCK) -> Callable[[int, int], None]:
    def flock(_: int, __: int) -> None:
        raise OSError(code, os.strerror(code))

    return flock


def new(path: Path, open_log: Callable[[Path], LogWriter] = LogWriter) -> Session:
    return Session(SessionStarted("s", "/w", "m"), Context(Chars4()), path=path, open_log=open_log)


def said(words: str) -> Event:
    return UserMessage((Text(words),))


def shared(path: Path, write: Callable[[int, bytes], int] = os.write) -> Session:
    """A writer of an existing session, on a file system without locks."""
    open_log = partial(LogWriter, write=write, flock=no_locks())
    return Session.load(path, Context(Chars4()), writable=True, open_log=open_log)


@pytest.mark.parametrize("code", NO_LOCKS)
def test_a_file_system_without_locks_is_named_when_a_session_is_begun_and_when_it_is_opened(
    tmp_path: Path, code: int
) -> None:
    open_log = partial(LogWriter, flock=no_locks(code))
    session = new(tmp_path / "s.jsonl", open_log=open_log)
    told: list[object] = []
    session.subscribe(told.append)
    session.emit(said("one"))
    session.emit(said("two"))
    line = f"{tmp_path} is on a file system without locks: open this session in one program only"
    assert [one.text for one in told if isinstance(one, Notice)] == [line]
    session.close()
    again = Session.load(session.path, Context(Chars4()), writable=True, open_log=open_log)
    assert again.notices == [line]


def test_a_lock_that_smb_refuses_with_another_error_is_held(tmp_path: Path) -> None:
    with pytest.raises(SessionLocked):
        LogWriter(tmp_path / "s.jsonl", flock=no_locks(errno.EACCES))


def test_a_record_of_another_program_is_noticed_before_the_next_append(tmp_path: Path) -> None:
    session = new(tmp_path / "s.jsonl")
    told: list[object] = []
    session.subscribe(told.append)
    session.emit(said("mine"))
    session.path.open("ab").write(b"somebody else's record\n")
    before = session.path.read_bytes()
    session.emit(said("mine too"))
    (moved,) = [one for one in told if isinstance(one, FileMoved)]
    assert moved.why == "was written to by another program while it was open"
    assert (tmp_path / "s.jsonl").read_bytes() == before
    assert read_log(tmp_path / "s-2.jsonl").records == session.records


@pytest.mark.parametrize("seed", range(RUNS))
def test_of_two_writers_without_locks_every_acknowledged_record_survives(tmp_path: Path, seed: int) -> None:
    """One of them also writes between the other's look at the file and its write, or fails in the middle of one."""
    chance = random.Random(seed)
    path = tmp_path / "s.jsonl"
    first = new(path)
    first.emit(said("begun"))
    first.close()
    writers: list[Session] = []
    acknowledged: list[list[Record]] = [[], []]
    busy, full = [False, False], [False, False]

    def emit(me: int) -> None:
        busy[me] = True
        with suppress(StorageFailed):
            acknowledged[me].append(writers[me].emit(said(f"words of {me} " * chance.randint(1, 9))))
        busy[me] = False

    def write(me: int, descriptor: int, data: bytes) -> int:
        if writers and not busy[1 - me] and chance.random() < 0.3:
            emit(1 - me)
        if full[me]:
            full[me] = False
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        full[me] = chance.random() < 0.1
        return os.write(descriptor, data[: chance.randrange(len(data))] if full[me] else data)

    opened = [shared(path, partial(write, me)) for me in (0, 1)]
    writers += opened
    for _ in range(20):
        emit(chance.randrange(2))
    busy = [True, True]
    for me, session in enumerate(writers):
        assert session.path is not None
        kept = read_log(session.path).records
        assert [one for one in acknowledged[me] if one not in kept] == []
        session.close()
