"""A session: what it writes, tells and answers, and how it goes on after a crash."""

import os
from pathlib import Path

import pytest

from prunecli.context import render
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import (
    AssistantMessage,
    Pinned,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    SessionStarted,
    SettingChanged,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse
from prunecli.model.record_codec import encode_record
from prunecli.session.following import follow, followed_to
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.store import Store
from prunecli.session.verify import verify_session
from prunecli.session.writer import LogWriter
from prunecli.util.errors import SessionReadOnly, SessionTooNew, StorageFailed


def new(path: Path | None, clock: list[int] | None = None) -> Session:
    times = clock or [1_000]
    tick = (lambda: times.pop(0) if len(times) > 1 else times[0]) if clock else (lambda: 1_000)
    return Session(SessionStarted("s", "/w", "m"), Context(Chars4()), path=path, clock=tick)


def loaded(path: Path, *, writable: bool = False) -> Session:
    return Session.load(path, Context(Chars4()), writable=writable, clock=lambda: 1)


def said(words: str) -> UserMessage:
    return UserMessage((Text(words),))


def test_a_session_that_nobody_used_leaves_no_file(tmp_path: Path) -> None:
    session = new(tmp_path / "s.jsonl")
    session.close()
    assert list(tmp_path.iterdir()) == []


def test_its_first_record_says_what_it_is(tmp_path: Path) -> None:
    session = new(tmp_path / "s.jsonl")
    session.emit(said("hi"))
    assert [type(r.event) for r in read_log(tmp_path / "s.jsonl").records] == [SessionStarted, UserMessage]


def test_what_a_reader_is_told_is_in_the_file_already(tmp_path: Path) -> None:
    session = new(tmp_path / "s.jsonl")
    seen: list[int] = []
    session.subscribe(lambda told: seen.append(len(read_log(tmp_path / "s.jsonl").records)))
    session.emit(said("hi"))
    assert seen == [1, 2]


@pytest.mark.parametrize("damage", ["unlink", "alter"])
def test_a_missing_or_altered_blob_is_noticed_and_the_request_stays_valid(
    tmp_path: Path, damage: str
) -> None:
    session = new(tmp_path / "s.jsonl")
    session.emit(UserMessage((Text("see:"), Text("x" * 70_000))))
    session.close()
    blob = next((tmp_path / "blobs").iterdir())
    blob.unlink() if damage == "unlink" else blob.write_text("y")
    again = loaded(tmp_path / "s.jsonl")
    assert any("blob" in notice for notice in again.notices)
    assert b"missing" in again.context.messages()[0].canonical


def crashed(path: Path) -> Session:
    session = new(path)
    session.emit(said("go"))
    session.emit(
        AssistantMessage((ToolUse("a", "bash", {}), ToolUse("b", "bash", {}), ToolUse("c", "bash", {})))
    )
    session.emit(ToolStarted("a", "bash", {}))
    session.emit(ToolResult("a", "bash", (Text("one"),)))
    session.emit(ToolStarted("b", "bash", {}))
    return session


def test_what_a_crash_left_open_is_answered_by_records_that_say_the_same_as_a_reader_derives(
    tmp_path: Path,
) -> None:
    crashed(tmp_path / "s.jsonl").close()
    derived = loaded(tmp_path / "s.jsonl").context.messages()
    resumed = loaded(tmp_path / "s.jsonl", writable=True)
    assert [block for m in resumed.context.messages() for block in m.blocks] == [
        b for m in derived for b in m.blocks
    ]
    results = [r.event for r in resumed.records if isinstance(r.event, ToolResult)]
    assert [(result.tool_use_id, result.is_error) for result in results] == [
        ("a", False),
        ("b", True),
        ("c", True),
    ]
    assert results[1].content == (Text(render.INTERRUPTED),)


@pytest.mark.parametrize(
    "started",
    [SessionStarted("s", "/w", "m", requires=("time-travel",)), SessionStarted("s", "/w", "m", version=99)],
)
def test_a_session_that_needs_what_we_lack_can_only_be_read(tmp_path: Path, started: SessionStarted) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(encode_record(Record(0, 1, started)) + encode_record(Record(1, 2, said("hi"))))
    session = loaded(path, writable=True)
    assert session.read_only
    with pytest.raises(SessionTooNew, match="it needs") as caught:
        session.emit(said("more"))
    assert "update prunecli" in caught.value.hint
    store = Store(tmp_path / "copies")
    with pytest.raises(SessionTooNew):
        session.forked(Context(Chars4()), store, Path("/w"))
    assert store.list() == []


def test_a_fork_begins_with_all_of_it_and_leaves_the_original_alone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.new_path(Path("/w"), "s")
    original = new(path)
    original.emit(said("hi"))
    original.close()
    before = path.read_bytes()
    copy = loaded(path).forked(Context(Chars4()), store, Path("/w"))
    copy.emit(said("elsewhere"))
    assert path.read_bytes() == before
    assert copy.started.parent == {"id": "s", "seq": 1}
    assert [r.timestamp for r in copy.records][:2] == [r.timestamp for r in original.records]


def test_a_copy_has_a_name_of_its_own_so_that_each_is_found_by_its_name(tmp_path: Path) -> None:
    store = Store(tmp_path)
    original = new(store.new_path(Path("/w"), "s"))
    original.emit(said("hi"))
    original.emit(SettingChanged("session.name", "the fix"))
    original.close()
    assert original.path is not None
    for wanted in ("the fix (2)", "the fix (3)"):
        copy = loaded(original.path).forked(Context(Chars4()), store, Path("/w"))
        copy.close()
        assert copy.name == wanted
        assert store.find(wanted) == copy.path
        assert copy.records[1:3] == original.records[1:]
    assert store.find("the fix") == original.path


@pytest.mark.parametrize("number", range(2, 8))
def test_of_a_copy_that_can_not_be_written_whole_nothing_is_left(tmp_path: Path, number: int) -> None:
    """At each of its records; the original goes on."""
    store, writes = Store(tmp_path), [0]

    def write(descriptor: int, data: bytes) -> int:
        writes[0] += 1
        if writes[0] > number:
            raise OSError(28, "No space left on device")
        return os.write(descriptor, data)

    path = store.new_path(Path("/w"), "s")
    crashed(path).close()
    before = path.read_bytes()
    original = Session.load(
        path, Context(Chars4()), writable=False, open_log=lambda path: LogWriter(path, write=write)
    )
    with pytest.raises(StorageFailed):
        original.forked(Context(Chars4()), store, Path("/w"))
    assert [one.path for one in store.list()] == [path]
    assert path.read_bytes() == before
    number = 100
    original.forked(Context(Chars4()), store, Path("/w")).close()
    assert len(store.list()) == 2


def test_a_copy_from_before_it_was_named_has_no_name(tmp_path: Path) -> None:
    store = Store(tmp_path)
    original = new(store.new_path(Path("/w"), "s"))
    original.emit(said("hi"))
    original.emit(SettingChanged("session.name", "the fix"))
    original.close()
    copy = original.forked(Context(Chars4()), store, Path("/w"), at=1)
    copy.close()
    assert copy.name == ""
    assert [record.event for record in copy.records[1:]] == [said("hi")]


def test_verify_finds_the_first_request_that_differs(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session = new(path)
    session.emit(said("hi"))
    session.emit(RequestSent("m", 3, session.context.sha256()))
    assert verify_session(path, read_log(path)).clean
    session.emit(RequestSent("m", 3, "00"))
    report = verify_session(path, read_log(path))
    assert not report.clean
    assert "request 2 does not match" in report.lines[0]


def test_settings_pins_and_rewinds_are_records_like_all_others(tmp_path: Path) -> None:
    session = new(tmp_path / "s.jsonl")
    session.emit(said("one"))
    session.emit(SettingChanged("session.name", "my work"))
    session.emit(Pinned((1,)))
    session.emit(said("two"))
    session.emit(Rewound(1))
    session.emit(PrunReverted((99,)))
    again = loaded(tmp_path / "s.jsonl")
    assert again.name == "my work"
    assert again.context.messages() == session.context.messages()
    assert [item.text for item in again.context.items] == ["one"]


def test_a_session_open_to_view_follows_the_program_that_writes_it(tmp_path: Path) -> None:
    """Whole records only, and edits through the writer; everything else is refused."""
    writer, path = new(tmp_path / "s.jsonl"), tmp_path / "s.jsonl"
    writer.emit(UserMessage((Text("one"),)))
    view, told = loaded(path), list[object]()
    view.subscribe(told.append)
    writer.emit(UserMessage((Text("two"),)))
    with path.open("ab") as file:
        file.write(b'{"seq":3,')
    follow(view)
    follow(view)
    assert told == view.records[2:] == writer.records[2:]
    with pytest.raises(SessionReadOnly):
        view.emit(Pinned((1,)))
    os.truncate(path, path.stat().st_size - len(b'{"seq":3,'))
    view.edit_there = lambda event: followed_to(view, writer.emit(event).seq)
    assert view.emit(Pinned((1,))) == writer.records[-1]
    assert view.context.sha256() == writer.context.sha256()
    with pytest.raises(SessionReadOnly):
        view.emit(UserMessage((Text("mine"),)))
