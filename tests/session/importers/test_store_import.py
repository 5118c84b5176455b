"""Imported sessions in the store: native files that a run can go on with, found again, branches as forks."""

import gzip
import json
from pathlib import Path

import pytest

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import SessionStarted, UserMessage
from prunecli.model.messages import Text
from prunecli.model.requests import IMPORTED
from prunecli.session.importers.source import Source, read_source
from prunecli.session.importers.store_import import SavedSession, save
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.store import Store
from prunecli.session.verify import verify_session
from prunecli.util.errors import StorageFailed
from tests.session.importers.test_claude_code import answer, read, text, user
from tests.session.points import content, sent

IMPORTS = Path(__file__).parents[2] / "imports"
SAMPLES = sorted(IMPORTS.glob("*.gz"))


def saved(
    folder: Path, source: Source, *, again: bytes = b"", branches: bool = False
) -> tuple[SavedSession, ...]:
    return save(source, Store(folder / "sessions"), folder, again=again, branches=branches)


def load(path: Path) -> Session:
    session = Session.load(path, Context(Chars4()), writable=True)
    session.close()
    return session


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_what_is_saved_sends_what_was_read_and_verifies(tmp_path: Path, path: Path) -> None:
    source = read_source(path)
    [one] = saved(tmp_path, source)
    session = load(one.path)
    assert session.notices == []
    assert sent(session.records)[: len(sent(source.records)) - 1] == sent(source.records)[:-1]
    assert verify_session(one.path, read_log(one.path)).clean
    assert one.path.stat().st_mode & 0o777 == 0o600
    origin = session.context.settings[IMPORTED]
    assert isinstance(origin, dict)
    assert origin["kind"] == source.kind
    begun = session.records[0].timestamp
    assert begun == source.records[0].timestamp


def test_a_second_import_finds_the_first_and_another_copy_is_made_when_asked_for(tmp_path: Path) -> None:
    source = read_source(SAMPLES[0])
    [first], [second] = saved(tmp_path, source), saved(tmp_path, source)
    assert (first.made, second.made) == (True, False)
    assert first.path == second.path
    [third] = saved(tmp_path, source, again=b"abc")
    assert third.made
    assert third.path != first.path


def test_branches_become_forks_of_the_main_line(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        user("1", None, "go", timestamp="2026-01-01T00:00:00Z"),
        answer("2", "1", "m1", text("First way.")),
        user("3", "2", "no"),
        user("5", "2", "better"),
    )
    main, fork = saved(tmp_path, source, branches=True)
    started = load(fork.path).started
    assert started.parent == {"id": main.id, "seq": 2}
    assert [one["content"][0]["text"] for one in sent(load(fork.path).records)] == ["go", "First way.", "no"]


def test_other_lines_and_other_copies_have_names_of_their_own(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        user("1", None, "go", timestamp="2026-01-01T00:00:00Z"),
        answer("2", "1", "m1", text("First way.")),
        user("3", "2", "no"),
        user("5", "2", "better"),
        {"type": "custom-title", "customTitle": "A fix", "sessionId": "s"},
    )
    made = [
        *saved(tmp_path, source, branches=True),
        *saved(tmp_path, source, again=b"abc"),
        *saved(tmp_path, source),
    ]
    assert [load(one.path).name for one in made] == ["A fix", "A fix (2)", "A fix (3)", "A fix"]


def test_messages_get_a_head_and_their_session_belongs_to_this_directory(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    [one] = saved(tmp_path, read_source(tmp_path / "m.json"))
    first, second, *_ = read_log(one.path).records
    assert isinstance(first.event, SessionStarted)
    assert first.event.cwd == str(tmp_path)
    assert isinstance(second.event, UserMessage)
    assert (second.seq, second.event.origin) == (1, "import")


def test_a_session_of_a_directory_that_exists_belongs_there(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    rows = user("1", None, "go") | {"cwd": str(tmp_path / "project")}
    [one] = saved(tmp_path, read(tmp_path, rows))
    assert load(one.path).started.cwd == str(tmp_path / "project")


def test_a_native_session_of_another_machine_keeps_its_records(tmp_path: Path) -> None:
    [one] = saved(tmp_path, read_source(SAMPLES[0]))
    (tmp_path / "copy.jsonl.gz").write_bytes(gzip.compress(one.path.read_bytes()))
    source = read_source(tmp_path / "copy.jsonl.gz")
    assert source.native
    [copy] = save(source, Store(tmp_path / "others"), tmp_path)
    assert sent(load(copy.path).records) == sent(load(one.path).records)


def test_a_long_result_and_an_image_lie_beside_the_log_and_come_back(tmp_path: Path) -> None:
    pixel = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    [one] = saved(tmp_path, read(tmp_path, user("1", None, [text("x" * 200_000), pixel])))
    assert len(list((one.path.parent / "blobs").iterdir())) == 2
    assert content(load(one.path).records[1].event)[0] == Text("x" * 200_000)


def test_nothing_is_left_of_an_import_that_cannot_be_written(tmp_path: Path) -> None:
    source = read(tmp_path, user("1", None, "x" * 200_000))
    store = Store(tmp_path / "sessions")
    path = store.new_path(tmp_path, "x").parent
    path.mkdir(parents=True)
    (path / "blobs").write_text("in the way")
    with pytest.raises(StorageFailed):
        save(source, store, tmp_path)
    assert [one.name for one in path.iterdir()] == ["blobs"]


def test_a_folder_that_can_not_be_made_is_a_clear_error(tmp_path: Path) -> None:
    source = read_source(SAMPLES[0])
    (tmp_path / "sessions").write_text("in the way")
    with pytest.raises(StorageFailed, match="Not a directory"):
        saved(tmp_path, source)


def test_what_a_killed_import_left_is_no_part_of_the_next(tmp_path: Path) -> None:
    source = read_source(SAMPLES[0])
    [first] = saved(tmp_path, source)
    whole = first.path.read_bytes()
    first.path.unlink()
    first.path.with_suffix(".part").write_bytes(whole[: len(whole) // 2])
    [second] = saved(tmp_path, source)
    assert second.made
    assert second.path.read_bytes() == whole
    assert not second.path.with_suffix(".part").exists()
