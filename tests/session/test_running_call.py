"""What a running call has printed outlives its program, and is said once."""

import os
from pathlib import Path

import pytest

from prunecli.context.render import INTERRUPTED, NOT_RUN
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import (
    AssistantMessage,
    Record,
    RequestSent,
    SessionStarted,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Text, ToolUse, plain_text
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.session_files import remove
from prunecli.session.store import Store
from prunecli.session.verify import verify_session

PRINTED = "one\ntwo\n"


def new(path: Path | None) -> Session:
    return Session(SessionStarted("s", "/w", "m"), Context(Chars4()), path=path, clock=lambda: 1)


def loaded(path: Path, *, writable: bool = True) -> Session:
    return Session.load(path, Context(Chars4()), writable=writable, clock=lambda: 1)


def running(path: Path | None) -> Session:
    """A session with a call that has started and printed something."""
    session = new(path)
    session.emit(UserMessage((Text("go"),)))
    session.emit(AssistantMessage((ToolUse("a", "bash", {}), ToolUse("b", "bash", {})), "m", "tool_use"))
    session.emit(ToolStarted("a", "bash", {}))
    session.hold("a", PRINTED)
    return session


def killed(session: Session) -> Path:
    """Its file, as the end of its program leaves it."""
    assert session.path is not None
    assert session._log is not None
    session._log.close()
    return session.path


def results(session: Session) -> list[str]:
    return [plain_text(one.event.content) for one in session.records if isinstance(one.event, ToolResult)]


def commands(session: Session) -> list[tuple[str, ...]]:
    return [
        tuple(block.text for block in one.event.content if isinstance(block, Text))
        for one in session.records
        if isinstance(one.event, UserMessage) and one.event.origin == "command"
    ]


def left(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if ".running" in name]


def test_after_a_kill_the_result_has_what_the_call_had_printed(tmp_path: Path) -> None:
    path = killed(running(tmp_path / "s.jsonl"))
    again = loaded(path)
    assert results(again) == [f"one\ntwo\n{INTERRUPTED}", INTERRUPTED]
    assert b"one\\ntwo" in again.context.messages()[-1].canonical
    assert left(tmp_path) == []
    again.close()
    assert verify_session(path, read_log(path)).clean
    assert results(loaded(path)) == results(again)


def test_the_same_is_said_where_the_program_lives_on() -> None:
    session = running(None)
    session.answer_open_calls()
    assert results(session) == [f"one\ntwo\n{INTERRUPTED}", INTERRUPTED]


@pytest.mark.parametrize("after", ["esc", "a kill"])
def test_a_call_of_ours_that_never_started_is_said_not_to_have_run(tmp_path: Path, after: str) -> None:
    session = new(tmp_path / "s.jsonl")
    session.emit(UserMessage((Text("go"),)))
    session.emit(RequestSent("m", 1, "00"))
    session.emit(AssistantMessage((ToolUse("a", "bash", {}), ToolUse("b", "bash", {})), "m", "tool_use"))
    session.emit(ToolStarted("a", "bash", {}))
    if after == "esc":
        session.answer_open_calls()
    else:
        session = loaded(killed(session))
    assert results(session) == [INTERRUPTED, NOT_RUN]
    assert b"nothing was run" in session.context.messages()[-1].canonical


def test_a_call_of_another_agent_may_have_run_because_its_log_has_no_starts() -> None:
    session = new(None)
    session.emit(RequestSent("m", 1, "00"))
    session.emit(AssistantMessage((Text("ours"),), "m"))
    session.emit(UserMessage((Text("imported"),), "import"))
    session.emit(AssistantMessage((ToolUse("a", "bash", {}),), "m", "tool_use"))
    session.answer_open_calls()
    assert results(session) == [INTERRUPTED]


def test_a_call_that_ends_leaves_nothing_beside_the_log(tmp_path: Path) -> None:
    session = running(tmp_path / "s.jsonl")
    assert left(tmp_path) == ["s.running"]
    assert (tmp_path / "s.running").stat().st_mode & 0o777 == 0o600
    session.emit(ToolResult("a", "bash", (Text("one\ntwo\nthree\n"),)))
    assert left(tmp_path) == []
    session.answer_open_calls()
    assert results(session) == ["one\ntwo\nthree\n", INTERRUPTED]


def test_what_is_left_of_another_call_is_not_taken_for_this_one(tmp_path: Path) -> None:
    session = running(tmp_path / "s.jsonl")
    old = (tmp_path / "s.running").read_bytes()
    session.answer_open_calls()
    session.emit(AssistantMessage((ToolUse("a", "bash", {}),), "m", "tool_use"))
    path = killed(session)
    (tmp_path / "s.running").write_bytes(old)
    assert results(loaded(path))[-1] == INTERRUPTED


def test_after_a_kill_a_command_of_the_users_is_in_the_log_with_what_it_had_printed(tmp_path: Path) -> None:
    session = new(tmp_path / "s.jsonl")
    session.emit(UserMessage((Text("hi"),)))
    session.hold("!make test", "")
    session.hold("!make test", PRINTED)
    path = killed(session)
    again = loaded(path)
    assert commands(again) == [("!make test", f"one\ntwo\n{INTERRUPTED}")]
    assert left(tmp_path) == []


def test_a_command_whose_end_is_recorded_is_not_recorded_again(tmp_path: Path) -> None:
    session = new(tmp_path / "s.jsonl")
    session.emit(UserMessage((Text("hi"),)))
    session.hold("!make test", PRINTED)
    kept = (tmp_path / "s.running").read_bytes()
    session.emit(UserMessage((Text("!make test"), Text("all well")), "command"))
    path = killed(session)
    (tmp_path / "s.running").write_bytes(kept)  # killed between the record and the removal
    assert commands(loaded(path)) == [("!make test", "all well")]


def test_a_copy_of_a_killed_session_has_it_too_and_the_original_keeps_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.new_path(Path("/w"), "s")
    path.parent.mkdir(parents=True)
    killed(running(path))
    copy = loaded(path, writable=False).forked(Context(Chars4()), store, Path("/w"))
    assert results(copy)[0] == f"one\ntwo\n{INTERRUPTED}"
    assert results(loaded(path))[0] == f"one\ntwo\n{INTERRUPTED}"


def test_a_session_that_is_only_looked_at_writes_nothing_beside_the_log(tmp_path: Path) -> None:
    path = killed(running(tmp_path / "s.jsonl"))
    before = (tmp_path / "s.running").read_bytes()
    loaded(path, writable=False).hold("b", "other")
    assert (tmp_path / "s.running").read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[]", b'{"key":1,"since":0,"text":""}', b'{"key":"a"}', b"[" * 9_000]
)
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    path = killed(running(tmp_path / "s.jsonl"))
    (tmp_path / "s.running").write_bytes(content)
    assert results(loaded(path)) == [INTERRUPTED, INTERRUPTED]


@pytest.mark.parametrize("kind", ["folder", "fifo", "link"])
def test_something_else_in_its_place_is_neither_read_nor_followed(tmp_path: Path, kind: str) -> None:
    path = killed(running(tmp_path / "s.jsonl"))
    place = tmp_path / "s.running"
    place.rename(tmp_path / "elsewhere")
    if kind == "folder":
        place.mkdir()
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to(tmp_path / "elsewhere")
    session = loaded(path)
    assert results(session) == [INTERRUPTED, INTERRUPTED]
    session.hold("c", "more")
    assert "more" not in (tmp_path / "elsewhere").read_text()


def test_where_it_can_not_be_written_the_program_goes_on_and_remembers(tmp_path: Path) -> None:
    session = running(tmp_path / "s.jsonl")
    (tmp_path / "s.running").unlink()
    (tmp_path / "s.running").mkdir()
    session.hold("a", "three\n")
    assert left(tmp_path) == ["s.running"]
    session.answer_open_calls()
    assert results(session)[0] == f"three\n{INTERRUPTED}"


def test_it_goes_with_the_session_that_is_deleted(tmp_path: Path) -> None:
    remove(killed(running(tmp_path / "s.jsonl")))
    assert list(tmp_path.iterdir()) == []


def test_text_that_can_not_be_encoded_is_kept_all_the_same(tmp_path: Path) -> None:
    session = running(tmp_path / "s.jsonl")
    session.hold("a", "a\ud800b")
    assert results(loaded(killed(session)))[0] == f"a\ufffdb\n{INTERRUPTED}"


def test_a_record_that_is_read_is_no_end_of_a_call(tmp_path: Path) -> None:
    """Reading the log of a killed session must not throw its output away before it is used."""
    path = killed(running(tmp_path / "s.jsonl"))
    assert isinstance(loaded(path, writable=False).records[-1], Record)
    assert left(tmp_path) == ["s.running"]
