"""Folders of sessions: private, and their names as durable as what lies behind them."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from prunecli.model.events import Record, SessionStarted, UserMessage
from prunecli.model.messages import Text
from prunecli.session.blobs import Blobs
from prunecli.session.log import read_log
from prunecli.session.writer import LogWriter, sync_folder
from prunecli.util.errors import StorageFailed
from prunecli.util.private_file import make_private

FIRST = Record(0, 1, SessionStarted("s", "/w", "m"))
SECOND = Record(1, 2, UserMessage((Text("hi"),)))


def failing(code: int) -> Callable[[int], None]:
    def fail(_: int) -> None:
        raise OSError(code, os.strerror(code))

    return fail


class Names:
    """Remembers which folders were synced; `broken` says what fails."""

    def __init__(self, broken: int = 0) -> None:
        self.broken = broken
        self.synced: list[Path] = []

    def sync(self, folder: Path) -> None:
        sync_folder(folder, failing(self.broken) if self.broken else os.fsync)
        self.synced.append(folder)


def test_what_is_made_is_told_by_the_folder_that_has_a_new_name(tmp_path: Path) -> None:
    assert make_private(tmp_path / "a" / "b" / "c") == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    assert make_private(tmp_path / "a" / "b" / "c") == []
    assert make_private(tmp_path / "a" / "d") == [tmp_path / "a"]
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        make_private(tmp_path / "file")


def test_every_name_that_leads_to_a_new_session_is_durable_with_its_first_commit(tmp_path: Path) -> None:
    names = Names()
    path = tmp_path / "sessions" / "work" / "s.jsonl"
    log = LogWriter(path, sync_names=names.sync)
    log.append(FIRST)
    assert names.synced == []
    log.commit()
    assert sorted(names.synced) == [tmp_path, tmp_path / "sessions", tmp_path / "sessions" / "work"]
    log.append(SECOND)
    log.commit()
    assert len(names.synced) == 3
    log.close()


def test_the_name_of_a_session_whose_maker_died_is_durable_with_the_next_commit(tmp_path: Path) -> None:
    path, names = tmp_path / "s.jsonl", Names()
    log = LogWriter(path)
    log.append(FIRST)
    log.close()
    again = LogWriter(path, sync_names=names.sync)
    again.append(SECOND)
    again.commit()
    assert names.synced == [tmp_path]


def test_a_name_that_can_not_be_made_durable_is_a_failure_until_it_can(tmp_path: Path) -> None:
    path, names = tmp_path / "s.jsonl", Names(errno.EIO)
    log = LogWriter(path, sync_names=names.sync)
    log.append(FIRST)
    with pytest.raises(StorageFailed, match="cannot sync"):
        log.commit()
    with pytest.raises(StorageFailed):
        log.append(SECOND)
    with pytest.raises(StorageFailed):
        log.mend()
    names.broken = 0
    log.mend()
    assert names.synced == [tmp_path]
    log.append(SECOND)
    assert read_log(path).records == [FIRST, SECOND]


def test_a_file_that_gets_its_name_is_gone_on_with_under_it(tmp_path: Path) -> None:
    names = Names()
    log = LogWriter(tmp_path / "s.part", sync_names=names.sync)
    log.append(FIRST)
    log.commit()
    log.move_to(tmp_path / "s.jsonl")
    assert names.synced == [tmp_path, tmp_path]
    log.append(SECOND)
    log.commit()
    assert not log.lost
    assert [one.name for one in tmp_path.iterdir()] == ["s.jsonl"]
    assert read_log(tmp_path / "s.jsonl").records == [FIRST, SECOND]
    names.broken = errno.EIO
    with pytest.raises(StorageFailed, match=r"t\.jsonl"):
        log.move_to(tmp_path / "t.jsonl")


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.ENOSYS])
def test_where_nothing_can_be_synced_the_work_goes_on(tmp_path: Path, code: int) -> None:
    path, names = tmp_path / "s.jsonl", Names(code)
    log = LogWriter(path, sync=failing(code), sync_names=names.sync)
    blobs = Blobs(tmp_path / "blobs", sync=failing(code), sync_names=names.sync)
    for record in (FIRST, SECOND):
        blobs.keep(bytes([record.seq]) * 70_000)
        blobs.commit()
        log.append(record)
        log.commit()
    assert not log.stuck
    assert read_log(path).records == [FIRST, SECOND]


def test_a_folder_that_is_gone_is_nothing_to_sync(tmp_path: Path) -> None:
    names = Names()
    names.sync(tmp_path / "nowhere")
    assert names.synced == [tmp_path / "nowhere"], "it raised nothing"


def test_a_blob_has_a_durable_name_in_a_durable_folder(tmp_path: Path) -> None:
    names = Names(errno.EIO)
    blobs = Blobs(tmp_path / "work" / "blobs", sync_names=names.sync)
    blobs.keep(b"x" * 100)
    with pytest.raises(StorageFailed):
        blobs.commit()
    names.broken = 0
    blobs.commit()
    assert set(names.synced) == {tmp_path, tmp_path / "work", tmp_path / "work" / "blobs"}
    synced = len(names.synced)
    blobs.commit()
    assert len(names.synced) == synced
