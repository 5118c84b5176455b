"""A damaged log never passes over the user's words in silence: the model is told that something is missing."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest

from prunecli.context import render
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.front.presentation.entries import Notice
from prunecli.front.presentation.presenter import Presenter, present_all
from prunecli.model.events import (
    AssistantMessage,
    Event,
    Record,
    RequestSent,
    RunEnded,
    SessionStarted,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.messages import Block, Opaque, Text, ToolUse, Usage, plain_text
from prunecli.session.audit import audit
from prunecli.session.loading import tail
from prunecli.session.log import LOST_WORDS, read_log
from prunecli.session.session import Session
from prunecli.session.store import Store
from prunecli.session.verify import verify_session
from tests.context.project import project

LOST = plain_text(LOST_WORDS.content)
TURNS: Sequence[Event] = (
    SessionStarted("s", "/w", "m"),
    UserMessage((Text("first words"),)),
    RequestSent("m", 1, "-", (0,)),
    AssistantMessage((Text("first answer"), ToolUse("t", "bash", {"command": "ls"})), "m", "tool_use"),
    ToolStarted("t", "bash", {"command": "ls"}),
    ToolResult("t", "bash", (Text("output"),)),
    RequestSent("m", 1, "-", (0, 2)),
    AssistantMessage((Text("second answer"),), "m", "end_turn"),
    RunEnded("finished"),
    UserMessage((Text("second words"),)),
    AssistantMessage((Text("third answer"),), "m", "end_turn"),
    RunEnded("finished"),
    UserMessage((Text("third words"),)),
)
WORDS = [seq for seq, event in enumerate(TURNS) if isinstance(event, UserMessage)]


def written(path: Path, turns: Sequence[Event] = TURNS) -> list[bytes]:
    """A session of three turns; its lines."""
    session = Session(turns[0], Context(Chars4()), path=path, clock=lambda: 1)  # type: ignore[arg-type]
    for event in turns[1:]:
        session.emit(event)
    session.close()
    return path.read_bytes().splitlines(keepends=True)


def loaded(path: Path, *, writable: bool = True) -> Session:
    return Session.load(path, Context(Chars4()), writable=writable, clock=lambda: 1)


def sent(session: Session) -> list[str]:
    return [entry.text for entry in session.context.items]


def flipped(line: bytes) -> bytes:
    return line.replace(b" words", b" w0rds").replace(b'"s"', b'"z"').replace(b"answer", b"answ3r")


@pytest.mark.parametrize(
    ("seq", "how"),
    [
        *((seq, how) for seq in WORDS[:-1] for how in ("a removed line", "zero bytes", "garbage")),
        *((seq, "a flipped byte") for seq in WORDS),  # of a last line nothing else would be left
    ],
)
def test_where_a_message_of_the_users_is_lost_the_model_is_told(tmp_path: Path, seq: int, how: str) -> None:
    path = tmp_path / "s.jsonl"
    lines = written(path)
    damaged = {
        "a flipped byte": flipped(lines[seq]),
        "a removed line": b"",
        "zero bytes": b"\0" * len(lines[seq]),
        "garbage": b"%%%\n",
    }[how]
    path.write_bytes(b"".join([*lines[:seq], damaged, *lines[seq + 1 :]]))
    session = loaded(path)
    at = WORDS.index(seq)
    assert [text for text in sent(session) if "words" in text or text == LOST][at] == LOST
    body = b"".join(message.canonical for message in session.context.messages())
    assert render.CONTINUES.encode() not in body
    assert session.notices


@pytest.mark.parametrize("seq", [seq for seq in range(len(TURNS)) if seq not in WORDS])
def test_where_something_else_is_lost_no_words_are_missed(tmp_path: Path, seq: int) -> None:
    path = tmp_path / "s.jsonl"
    lines = written(path)
    lines[seq] = lines[seq].replace(b',"crc":"', b',"crc":"x')
    path.write_bytes(b"".join(lines))
    assert LOST not in sent(loaded(path))


def test_a_session_opens_if_an_answer_is_lost_to_which_a_later_breakpoint_refers(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = written(path, [*TURNS[:10], RequestSent("m", 1, "-", (2, 4)), *TURNS[10:]])
    path.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    session = loaded(path)
    assert sent(session) == ["first words", "second answer", "second words", "third answer", "third words"]
    assert session.notices
    session.emit(RequestSent("m", 1, "-", (2, 4)))
    session.emit(AssistantMessage((Text("fourth answer"),), "m", "end_turn", Usage(1, 1, 9, 9)))
    session.close()
    assert sent(loaded(path))[-1] == "fourth answer"


@pytest.mark.parametrize("seq", WORDS)
@pytest.mark.parametrize("content", ['"content":7', '"content":[{"type":["x"]}]', '"content":[1]'])
def test_of_a_message_with_a_good_checksum_and_a_wrong_shape_the_model_is_told_too(
    tmp_path: Path, seq: int, content: str
) -> None:
    path = tmp_path / "s.jsonl"
    lines = written(path)
    line = f'{{"seq":{seq},"timestamp":{seq + 1},"type":"UserMessage",{content}}}'.encode()
    wrong = b'%b,"crc":"%08x"}\n' % (line[:-1], crc32(line[:-1]))
    path.write_bytes(b"".join([*lines[:seq], wrong, *lines[seq + 1 :]]))
    session = loaded(path)
    at = WORDS.index(seq)
    assert [text for text in sent(session) if "words" in text or text == LOST][at] == LOST
    assert any(f"record {seq}: malformed UserMessage" in notice for notice in session.notices)
    session.emit(UserMessage((Text("more words"),)))
    session.close()
    assert loaded(path, writable=False).context.sha256() == session.context.sha256()
    assert path.read_bytes().count(wrong) == 1, "the file keeps what it had"


IMPOSSIBLE = (
    Opaque({"type": "tool_result", "tool_use_id": "x", "content": "y"}),
    ToolUse("u", "bash", {}),
    Opaque({"text": "no type"}),
)


@pytest.mark.parametrize(
    "content", [*((block,) for block in IMPOSSIBLE), IMPOSSIBLE, (Text(" "), *IMPOSSIBLE)]
)
def test_a_message_of_blocks_that_no_request_may_hold_is_said_to_be_lost(
    tmp_path: Path, content: tuple[Block, ...]
) -> None:
    path = tmp_path / "s.jsonl"
    session = Session(TURNS[0], Context(Chars4()), path=path, clock=lambda: 1)  # type: ignore[arg-type]
    session.emit(UserMessage(content, "import"))
    live = session.context.messages()
    assert [json.loads(message.canonical)["content"] for message in live] == [
        [{"type": "text", "text": LOST}]
    ]
    assert project(session.records) == live
    session.close()
    again = loaded(path)
    assert again.context.messages() == live
    assert [one for one in again.notices if "is left out" in one]
    entries = present_all(Presenter(lambda name, given: "", lambda seq: None), again.records)
    assert [entry.text for entry in entries if isinstance(entry, Notice)] == [LOST]


def test_a_result_of_such_blocks_is_not_said_to_be_empty() -> None:
    session = Session(TURNS[0], Context(Chars4()), path=None, clock=lambda: 1)  # type: ignore[arg-type]
    session.emit(UserMessage((Text("go"),)))
    session.emit(AssistantMessage((ToolUse("t", "bash", {}),), "m", "tool_use"))
    session.emit(ToolResult("t", "bash", IMPOSSIBLE))
    said = session.context.messages()[-1].canonical.decode()
    assert render.LOST_RESULT in said
    assert render.NO_OUTPUT not in said


def test_a_message_that_says_something_beside_such_blocks_is_not_lost() -> None:
    session = Session(TURNS[0], Context(Chars4()), path=None, clock=lambda: 1)  # type: ignore[arg-type]
    session.emit(UserMessage((*IMPOSSIBLE, Text("words"))))
    assert LOST not in session.context.messages()[0].canonical.decode()


def test_what_is_said_afterwards_can_be_proved_and_is_the_same_each_time(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for seq in WORDS:
        lines = written(path)
        path.write_bytes(b"".join([*lines[:seq], flipped(lines[seq]), *lines[seq + 1 :]]))
        session = loaded(path)
        session.emit(UserMessage((Text("more words"),)))
        session.emit(RequestSent("m", 1, session.context.sha256()))
        session.close()
        again = loaded(path, writable=False)
        assert again.records == session.records
        assert again.context.sha256() == session.context.sha256()
        report = verify_session(path, read_log(path))
        assert not any(
            "differs" in line for line in report.lines if f"record {session.records[-1].seq}" in line
        )
        path.unlink()


def test_the_end_of_a_long_file_is_not_taken_for_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    written(path)
    assert all(record.event != LOST_WORDS for record in tail(path, most_bytes=400))


def test_a_copy_of_a_damaged_session_says_it_too(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.new_path(Path("/w"), "s")
    path.parent.mkdir(parents=True)
    lines = written(path)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    copy = loaded(path, writable=False).forked(Context(Chars4()), store, Path("/w"))
    copy.close()
    assert copy.path is not None
    again = loaded(copy.path)
    assert sent(again)[0] == LOST
    assert again.notices == []


def test_a_line_that_a_kill_left_half_written_was_never_said(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = written(path)
    path.write_bytes(b"".join(lines)[:-20])
    assert sent(loaded(path))[-1] == "third answer"


def test_a_request_of_an_earlier_version_that_left_such_a_message_out_is_proved(tmp_path: Path) -> None:
    """Its hash is that of a message and a result without content; any other hash is still wrong."""
    talk: list[Event] = [
        TURNS[0],
        UserMessage(IMPOSSIBLE, "import"),
        UserMessage((Text("go"),)),
        AssistantMessage((ToolUse("t", "bash", {}),), "m", "tool_use"),
        ToolResult("t", "bash", IMPOSSIBLE),
    ]
    then = Context(Chars4())
    for seq, event in enumerate(talk):
        gone = isinstance(event, UserMessage | ToolResult) and event.content == IMPOSSIBLE
        then.apply(Record(seq, 1, replace(event, content=()) if gone else event))  # type: ignore[call-arg]
    for sha256, clean in ((then.sha256(), True), ("0" * 64, False)):
        path = tmp_path / f"{clean}.jsonl"
        session = Session(TURNS[0], Context(Chars4()), path=path, clock=lambda: 1)  # type: ignore[arg-type]
        for event in [*talk[1:], RequestSent("m", 3, sha256)]:
            session.emit(event)
        assert sha256 != session.context.sha256()
        session.emit(AssistantMessage((Text("done"),), "m", "end_turn", Usage(9, 1)))
        session.emit(RequestSent("m", 4, session.context.sha256()))
        session.close()
        assert verify_session(path, read_log(path)).clean is clean
        rows = audit(read_log(path).records, Context(Chars4()), lambda model, usage: 0.0).rows
        assert [row.proved for row in rows] == [clean, True]
