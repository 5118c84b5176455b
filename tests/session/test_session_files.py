"""A name for, and the removal of, a session that is not open."""

from collections.abc import Callable
from pathlib import Path

import pytest

from prunecli.session.log import read_log
from prunecli.session.session_files import remove, rename, to_trash
from prunecli.session.store import Store
from prunecli.session.writer import LogWriter
from prunecli.util.errors import SessionLocked, SessionNotFound, StorageFailed
from tests.session.written import T0, named, prompt, session


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "sessions")


def test_a_name_is_one_more_record_and_the_session_is_found_by_it(store: Store, tmp_path: Path) -> None:
    path = session(store, tmp_path, "a", [prompt("hi"), named("old")])
    before = path.read_bytes()
    rename(path, "new", lambda: T0 + 1_000)
    assert path.read_bytes().startswith(before)
    assert [record.seq for record in read_log(path).records] == [0, 1, 2, 3]
    assert store.find("new") == path


def test_what_was_removed_in_the_picker_can_be_moved_back(store: Store, tmp_path: Path) -> None:
    path = session(store, tmp_path, "a", [prompt("hi")])
    before = path.read_bytes()
    place = to_trash(path, tmp_path / "trash", lambda: T0)
    assert place.is_relative_to(tmp_path / "trash")
    assert place.read_bytes() == before
    assert store.list() == []
    place.rename(path)
    assert store.find("a") == path


def test_a_session_that_is_deleted_is_gone_and_no_other_is(store: Store, tmp_path: Path) -> None:
    path, other = session(store, tmp_path, "a"), session(store, tmp_path, "b")
    remove(path)
    assert [one.path for one in store.list()] == [other]


ACTS: dict[str, Callable[[Path], object]] = {
    "rename": lambda path: rename(path, "x", lambda: T0),
    "to_trash": lambda path: to_trash(path, path.parents[2] / "trash", lambda: T0),
    "remove": remove,
}


@pytest.mark.parametrize("what", ACTS)
def test_a_session_that_somebody_writes_to_is_left_alone(store: Store, tmp_path: Path, what: str) -> None:
    path = session(store, tmp_path, "a", [prompt("hi")])
    before = path.read_bytes()
    log = LogWriter(path)
    with pytest.raises(SessionLocked):
        ACTS[what](path)
    assert path.read_bytes() == before
    log.close()
    ACTS[what](path)


@pytest.mark.parametrize("what", ACTS)
def test_a_session_that_is_gone_is_said_and_no_file_is_made(store: Store, tmp_path: Path, what: str) -> None:
    path = session(store, tmp_path, "a")
    path.unlink()
    with pytest.raises((SessionNotFound, StorageFailed)):
        ACTS[what](path)
    assert not path.exists()
