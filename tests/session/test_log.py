"""The session file: what is written is read back, and nothing damaged is ever taken for good."""

import errno
import multiprocessing
import os
from multiprocessing.synchronize import Event
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    PrunApplied,
    Record,
    SessionStarted,
    ToolResult,
    ToolStarted,
    Unknown,
    UserMessage,
)
from prunecli.model.messages import Text
from prunecli.model.record_codec import decode_record, encode_record, record_from_json
from prunecli.model.touches import Touches
from prunecli.session.importers.source import read_source
from prunecli.session.lines import MAX_LINE
from prunecli.session.log import LOST_WORDS, quarantine, read_log
from prunecli.session.session import Session
from prunecli.session.writer import LogWriter, lock_holder
from prunecli.util.errors import SessionCorrupt, SessionLocked, StorageFailed

START = SessionStarted("s", "/w", "m")


def record(seq: int, words: str = "hello") -> Record:
    return Record(seq, 1_000 + seq, START if seq == 0 else UserMessage((Text(words),)))


def written(path: Path, count: int = 5) -> list[Record]:
    records = [record(seq, f"words {seq}") for seq in range(count)]
    log = LogWriter(path)
    for one in records:
        log.append(one)
    log.commit()
    log.close()
    return records


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    records = written(tmp_path / "s.jsonl")
    assert read_log(tmp_path / "s.jsonl").records == records


@pytest.mark.slow
@pytest.mark.parametrize("end", [b"\n", b""])
def test_of_a_damaged_line_that_is_longer_than_any_record_only_the_beginning_is_kept(
    tmp_path: Path, end: bytes
) -> None:
    path = tmp_path / "s.jsonl"
    records = written(path)
    lines = path.read_bytes().splitlines(keepends=True)
    kept = len(lines) if end else 2
    with path.open("wb") as file:
        file.writelines(lines[:2])
        file.truncate(file.tell() + 2 * MAX_LINE)
        file.seek(0, os.SEEK_END)
        file.write(b"x" + end)
        file.writelines(lines[2:kept])
    found = read_log(path)
    assert (found.records, found.complete) == (records[:kept], bool(end))
    assert [(one.number, len(one.data) < MAX_LINE + 10) for one in found.bad] == [(3, True)]
    loaded = Session.load(path, Context(Chars4()), writable=True)
    loaded.close()
    assert [one.event for one in loaded.records[:kept]] == [one.event for one in records[:kept]]
    assert path.with_suffix(".quarantine").stat().st_size < MAX_LINE + 10


def test_folder_and_file_are_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "s.jsonl"
    written(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_planted_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed, match="is a symbolic link") as refused:
        LogWriter(tmp_path / "s.jsonl")
    assert "--fork" in refused.value.hint, "what is said leads out: the folder is writable"
    assert not (tmp_path / "elsewhere").exists()


def test_a_good_record_behind_a_stub_is_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(encode_record(record(0)) + b'{"seq":1,"timestamp":5,"ty' + encode_record(record(1)))
    assert [one.seq for one in read_log(path).records] == [0, 1]


def test_short_writes_of_any_length_are_completed(tmp_path: Path) -> None:
    """Of every length that a record can be cut at."""
    for kept in range(1, len(encode_record(record(1))) + 1):
        path = tmp_path / f"{kept}.jsonl"
        log = LogWriter(path, write=lambda fd, data, kept=kept: os.write(fd, data[:kept]))  # type: ignore[misc]
        log.append(record(0))
        log.append(record(1))
        log.close()
        assert path.read_bytes() == encode_record(record(0)) + encode_record(record(1))


def test_a_write_that_fails_after_any_number_of_bytes_is_rolled_back(tmp_path: Path) -> None:
    """Nothing of the record stays, and it can be written again."""
    for kept in range(1, len(encode_record(record(1)))):
        path = tmp_path / f"{kept}.jsonl"
        room = [10**6, kept, 0, 10**6]

        def write(fd: int, data: bytes, room: list[int] = room) -> int:
            left = room.pop(0)
            if left == 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return os.write(fd, data[:left])

        log = LogWriter(path, write=write)
        log.append(record(0))
        with pytest.raises(StorageFailed):
            log.append(record(1))
        assert path.read_bytes() == encode_record(record(0))
        log.append(record(1))
        log.close()
        assert path.read_bytes() == encode_record(record(0)) + encode_record(record(1))


def test_after_a_failed_sync_nothing_is_accepted(tmp_path: Path) -> None:
    def sync(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    log = LogWriter(tmp_path / "s.jsonl", sync=sync)
    log.append(record(0))
    with pytest.raises(StorageFailed, match="cannot sync"):
        log.commit()
    with pytest.raises(StorageFailed):
        log.append(record(1))


def test_a_folder_that_can_not_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed) as caught:
        LogWriter(tmp_path / "file" / "s.jsonl")
    assert "--no-session" in caught.value.hint


def hold(path: str, ready: Event, release: Event) -> None:
    log = LogWriter(Path(path))
    log.append(record(0))
    ready.set()
    release.wait(30)


def test_a_second_writer_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready, release = spawn.Event(), spawn.Event()
    path = tmp_path / "s.jsonl"
    other = spawn.Process(target=hold, args=(str(path), ready, release))
    other.start()
    assert ready.wait(30)
    with pytest.raises(SessionLocked) as caught:
        LogWriter(path)
    assert caught.value.pid in (other.pid, None)
    assert lock_holder(path) in (other.pid, None)
    other.kill()
    other.join()
    LogWriter(path).close()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="finds the descriptor in /proc")
def test_a_closed_session_is_free_while_a_child_that_is_being_started_has_its_descriptor(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.jsonl"
    first = LogWriter(path)
    names = os.listdir("/proc/self/fd")
    (held,) = [name for name in names if os.path.realpath(f"/proc/self/fd/{name}") == str(path.resolve())]
    copy = os.dup(int(held))
    try:
        first.append(record(0))
        first.close()
        second = LogWriter(path)
        second.append(record(1))
        second.close()
        assert read_log(path).records == [record(0), record(1)]
    finally:
        os.close(copy)


HARD_TEXT = st.text(
    st.characters(codec="utf-8") | st.sampled_from("\u2028\u2029\x85\x0b\x0c\x1c\r\n\0\ufeff")
)


@given(HARD_TEXT)
@settings(max_examples=200, deadline=None)
def test_any_text_is_one_line_and_reads_back(words: str) -> None:
    line = encode_record(Record(1, 2, UserMessage((Text(words),))))
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert decode_record(line[:-1]).event == UserMessage((Text(words),))


@given(st.text(st.characters(categories=["Cs", "L"]), max_size=20))
@settings(deadline=None)
def test_lone_surrogates_become_replacement_characters(words: str) -> None:
    back = decode_record(encode_record(Record(1, 2, UserMessage((Text(words),))))[:-1]).event
    assert isinstance(back, UserMessage)
    text = back.content[0]
    assert isinstance(text, Text)
    text.text.encode("utf-8")


@pytest.mark.parametrize(
    "payload",
    [
        '"type":"UserMessage","content":[{"type":"text","text":NaN}]',
        '"type":"UserMessage","content":[{"type":"text"}]',
        '"type":"UserMessage","content":5',
        '"type":"UserMessage","content":[],"content":[]',
        '"type":"RequestSent","model":"m","tokens":' + "9" * 5_000,
        '"type":"RequestSent","model":"m","tokens":[],"sha256":"x"',
        '"type":"PrunApplied","source":"user","edits":[{"kind":"clear","seq":1}]',
        '"type":7',
        '"type":"UserMessage","content":' + "[" * 100_000,
        *(
            '"type":"HologramShown","x":' + '{"a":' * deep + "1" + "}" * deep
            for deep in (200, 700, 5_000, 99_999)
        ),
    ],
)
def test_a_record_with_a_good_crc_and_a_bad_content_is_set_aside(tmp_path: Path, payload: str) -> None:
    from zlib import crc32

    body = ('{"seq":1,"timestamp":2000,' + payload).encode()
    path = tmp_path / "s.jsonl"
    line = body + b',"crc":"%08x"}\n' % crc32(body)
    path.write_bytes(encode_record(record(0)) + line + encode_record(record(2)))
    loaded = read_log(path)
    known = [
        one.seq for one in loaded.records if not isinstance(one.event, Unknown) and one.event != LOST_WORDS
    ]
    assert known == [0, 2]
    assert [(bad.number, bad.seq) for bad in loaded.bad] == [(2, 1)], "one line says what is wrong"


def test_unknown_records_are_kept_and_have_no_effect(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    strange = Record(1, 2_000, Unknown("HologramShown", {"depth": [1, {"x": None}]}))
    path.write_bytes(encode_record(record(0)) + encode_record(strange))
    before = path.read_bytes()
    assert read_log(path).records[1] == strange
    log = LogWriter(path)
    log.append(record(2))
    assert path.read_bytes().startswith(before)


def test_byte_order_mark_carriage_returns_and_a_missing_last_newline_are_no_matter(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    records = written(path, 3)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n").rstrip())
    assert read_log(path).records == records


def test_damaged_lines_are_copied_once_and_the_log_is_never_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    written(path, 2)
    path.write_bytes(path.read_bytes() + b"garbage\n")
    before = path.read_bytes()
    for _ in range(2):
        quarantine(path, read_log(path).bad)
    assert path.read_bytes() == before
    assert (tmp_path / "s.quarantine").read_bytes() == b"garbage\n"


def test_a_file_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    log = LogWriter(path)
    assert not log.lost
    path.unlink()
    assert log.lost


def test_a_file_without_a_single_record_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(b"nothing here\n")
    with pytest.raises(SessionCorrupt, match="line 1") as raised:
        read_log(tmp_path / "s.jsonl")
    assert "sessions import" in raised.value.hint


def test_a_log_without_a_good_record_is_neither_to_be_imported_nor_verified(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(encode_record(Record(0, 1, UserMessage((Text("first"),)))).replace(b"first", b"fir5t"))
    with pytest.raises(SessionCorrupt, match="line 1") as raised:
        read_log(path)
    assert raised.value.hint == ""
    path.write_text('{"messages": [{"role": "user", "content": 7}]}')
    with pytest.raises(SessionCorrupt, match="line 1") as raised:
        read_source(path)
    assert raised.value.hint == ""


def test_details_are_kept_as_they_are() -> None:
    event = ToolResult("t", "bash", (Text("x"),), True, {"exit_code": 1, "deep": {"a": [None, 2.5]}}, 7)
    assert decode_record(encode_record(Record(1, 2, event))[:-1]).event == event


@pytest.mark.parametrize("tokens", [None, 0, 7])
@pytest.mark.parametrize("done", [None, (), ({"type": "unknown_kind", "deep": {"x": [1]}},)])
def test_what_the_endpoint_reported_of_a_response_is_read_back_and_absent_otherwise(
    done: tuple[dict[str, object], ...] | None, tokens: int | None
) -> None:
    answer = Record(
        3,
        4,
        AssistantMessage(
            (Text("x"),), "m", input_transformations=done, thinking_tokens=tokens, applied_edits=done
        ),
    )
    line = encode_record(answer)
    assert decode_record(line) == answer
    assert (b'"input_transformations"' in line) == (done is not None)
    assert (b'"thinking_tokens"' in line) == (tokens is not None)
    assert (b'"applied_edits"' in line) == (done is not None)


@pytest.mark.parametrize(
    ("touches", "written"),
    [
        (None, b""),
        (Touches(), b',"touches":{}'),
        (Touches(reads=("a", "b"), runs=("ls",)), b',"touches":{"reads":["a","b"],"runs":["ls"]}'),
        (Touches(changes=("a",), searches=(".",)), b',"touches":{"changes":["a"],"searches":["."]}'),
    ],
)
def test_what_a_call_touches_is_read_back_and_absent_where_nothing_declares_it(
    touches: Touches | None, written: bytes
) -> None:
    started = Record(3, 4, ToolStarted("t", "new", {"file": "a"}, touches))
    line = encode_record(started)
    assert decode_record(line) == started
    assert b'"input":{"file":"a"}' + written + b',"crc"' in line


def test_a_part_of_touches_that_this_version_does_not_know_is_written_again() -> None:
    given = {
        "seq": 3,
        "timestamp": 4,
        "type": "ToolStarted",
        "tool_use_id": "t",
        "tool_name": "new",
        "input": {},
    }
    record = record_from_json({**given, "touches": {"reads": ["a"], "sends": ["https://x"]}})
    assert record.event == ToolStarted("t", "new", {}, Touches(reads=("a",)))
    assert b'"touches":{"reads":["a"],"sends":["https://x"]}' in encode_record(record)


@pytest.mark.parametrize("blocks", [0, 12])
def test_the_thinking_that_a_prune_costs_is_recorded_where_there_is_any(blocks: int) -> None:
    record = Record(3, 4, PrunApplied("user", (Edit("strip", 1),), thinking_blocks=blocks))
    line = encode_record(record)
    assert decode_record(line) == record
    assert (b'"thinking_blocks":12' in line) == bool(blocks)


def test_a_response_of_an_earlier_version_is_written_again_byte_for_byte() -> None:
    body = (
        b'{"seq":3,"timestamp":4,"type":"AssistantMessage","content":[{"type":"text","text":"x"}],"model":"m",'
        b'"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2},"request_id":"r","duration_ms":5'
    )
    line = b'%b,"crc":"%08x"}\n' % (body, crc32(body))
    assert encode_record(decode_record(line)) == line
