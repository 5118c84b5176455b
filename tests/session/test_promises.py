"""What a session file promises over its life: foreign things are kept, time goes on, a lost file is noticed."""

import os
import subprocess
from collections.abc import Callable
from itertools import cycle, pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model import record_codec
from prunecli.model.codec import strict_loads
from prunecli.model.events import Event, Record, SessionStarted, Unknown, UserMessage
from prunecli.model.messages import Text
from prunecli.model.record_codec import decode_record, encode_record
from prunecli.session.log import read_log
from prunecli.session.session import FileMoved, Session
from prunecli.session.store import Store
from prunecli.session.verify import verify_session
from prunecli.session.writer import LogWriter
from prunecli.util.errors import SessionLocked, StorageFailed
from tests.laws.logs import logs

ROOT = Path(__file__).parents[2]
START = SessionStarted("s", "/w", "m")
DAY = 86_400_000
FOREIGN = [
    '"type":"HologramShown","depth":[1,{"x":null}]',
    '"type":"UserMessage","content":[{"type":"text","text":"hi"}],"origin":"prompt","mood":"sunny"',
    '"type":"UserMessage","content":[{"type":"text","text":"hi","citations":[1]},{"type":"scent","of":"rose"}]',
    '"type":"AssistantMessage","content":[],"model":"m","usage":{"input_tokens":1,"server":{"n":2}},"tier":"x"',
    '"type":"PrunApplied","source":"user","edits":[{"kind":"clear","seq":1,"text":"[gone]","why":"big"}]',
    '"type":"SettingChanged","key":"k","value":{"deep":[1]},"by":"somebody"',
]


def line(seq: int, payload: str) -> bytes:
    from zlib import crc32

    body = f'{{"seq":{seq},"timestamp":{1_000 + seq},{payload}'.encode()
    return body + b',"crc":"%08x"}\n' % crc32(body)


def foreign_log(path: Path) -> Path:
    """A file of a later version that needs nothing new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [line(seq, payload) for seq, payload in enumerate(FOREIGN, 1)]
    path.write_bytes(encode_record(Record(0, 999, START)) + b"".join(lines))
    return path


def said(words: str) -> UserMessage:
    return UserMessage((Text(words),))


def new(path: Path | None, clock: Callable[[], int] = lambda: 1_000) -> Session:
    return Session(START, Context(Chars4()), path=path, clock=clock)


def load(path: Path, *, writable: bool = True) -> Session:
    return Session.load(path, Context(Chars4()), writable=writable, clock=lambda: 1)


def test_every_kind_of_event_can_be_written_and_read() -> None:
    """A kind that is added to the events and not to the codec would be damaged lines in every session."""
    assert {kind.__name__ for kind in get_args(Event)} == {*record_codec._READERS, "Unknown"}


@pytest.mark.parametrize("payload", FOREIGN)
def test_a_record_with_foreign_things_can_be_written_again_with_all_of_them(payload: str) -> None:
    given_line = line(1, payload)
    again = encode_record(decode_record(given_line[:-1]))
    before, after = strict_loads(given_line), strict_loads(again)
    before.pop("crc")
    assert before.items() <= after.items() or all(covers(after[key], before[key]) for key in before)


def covers(after: object, before: object) -> bool:
    """Whether everything of the one is in the other."""
    if isinstance(before, dict) and isinstance(after, dict):
        return all(key in after and covers(after[key], value) for key, value in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(covers, after, before))
    return before == after


def test_foreign_things_stay_in_the_file_and_go_into_a_copy(tmp_path: Path) -> None:
    """Appending changes no byte; a fork has every type and key."""
    store = Store(tmp_path)
    path = foreign_log(store.new_path(Path("/w"), "s"))
    before = path.read_bytes()
    session = load(path)
    assert any(isinstance(record.event, Unknown) for record in session.records)
    session.emit(said("more"))
    session.close()
    assert path.read_bytes().startswith(before)
    copy = load(path, writable=False).forked(Context(Chars4()), store, Path("/w"))
    copy.close()
    assert copy.path is not None
    lines = copy.path.read_bytes().splitlines()
    for number, payload in enumerate(FOREIGN, 1):
        wanted = strict_loads("{" + payload + "}")
        assert covers(strict_loads(lines[number]), wanted), payload


@pytest.mark.parametrize("examples", [100, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_clock_that_jumps_changes_neither_order_nor_context(examples: int) -> None:
    """A day back, a day ahead, the same millisecond, under any log."""

    @given(logs(max_steps=12), st.lists(st.integers(-DAY, DAY) | st.just(0), min_size=1, max_size=12))
    @settings(max_examples=examples, deadline=None)
    def run(records: list[Record], steps: list[int]) -> None:
        now = 1_700_000_000_000
        times = cycle(now + step for step in steps)
        jumping, steady = new(None, lambda: next(times)), new(None, lambda: now)
        for session in (jumping, steady):
            for record in records:
                session.emit(record.event)
        assert [record.event for record in jumping.records] == [record.event for record in steady.records]
        stamps = [record.timestamp for record in jumping.records]
        assert all(earlier < later for earlier, later in pairwise(stamps))
        again = Context(Chars4())
        for record in jumping.records:
            again.apply(decode_record(encode_record(record)))
        assert again.messages() == jumping.context.messages() == steady.context.messages()
        assert again.sha256() == jumping.context.sha256() == steady.context.sha256()

    run()


def test_a_session_goes_on_a_day_before_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    first = new(path, lambda: 1_700_086_400_000)
    first.emit(said("tomorrow"))
    first.close()
    second = Session.load(path, Context(Chars4()), writable=True, clock=lambda: 1_700_000_000_000)
    second.emit(said("today"))
    stamps = [record.timestamp for record in read_log(path).records]
    assert stamps == sorted(set(stamps))


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced", "linked", "cut", "folder"])
def test_a_lost_file_is_noticed_at_the_next_record_and_a_new_one_holds_everything(
    tmp_path: Path, how: str
) -> None:
    path = tmp_path / "x" / "s.jsonl"
    session = new(path)
    told: list[object] = []
    session.subscribe(told.append)
    session.emit(said("one"))
    session.emit(UserMessage((Text("long " * 20_000),)))
    session.commit()
    match how:
        case "deleted":
            path.unlink()
        case "moved":
            path.rename(tmp_path / "elsewhere")
        case "replaced":
            path.unlink()
            path.write_bytes(b"somebody else's\n")
        case "linked":
            path.rename(tmp_path / "elsewhere")
            path.symlink_to(tmp_path / "elsewhere")
        case "cut":
            os.truncate(path, 20)
        case _:
            subprocess.run(["rm", "-r", str(path.parent)], check=True)
    left = path.read_bytes() if path.exists() else None
    session.emit(said("two"))
    session.commit()
    (moved,) = [one for one in told if isinstance(one, FileMoved)]
    assert moved.path == session.path == (path if left is None else path.with_name("s-2.jsonl"))
    if left is not None:
        assert path.read_bytes() == left, "what lies at the old place is left alone"
    with pytest.raises(SessionLocked):
        LogWriter(moved.path)
    session.close()
    again = load(moved.path)
    assert again.records == session.records
    assert not [notice for notice in again.notices if "blob" in notice]


def test_a_lost_file_that_can_not_be_made_anew_is_a_failure_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "x" / "s.jsonl"
    session = new(path)
    session.emit(said("one"))
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("in the way")
    with pytest.raises(StorageFailed):
        session.emit(said("two"))
    assert len(session.records) == 2
    path.parent.unlink()
    session.emit(said("two"))
    assert read_log(path).records == session.records


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s.jsonl"
    os.mkfifo(path) if kind == "fifo" else path.mkdir()
    with pytest.raises(StorageFailed, match=r"s\.jsonl"):
        LogWriter(path)


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    """A file that some tool copied here."""
    path = foreign_log(tmp_path / "s.jsonl")
    path.chmod(0o644)
    LogWriter(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_session_of_the_first_version_gives_the_context_that_it_gave_then(tmp_path: Path) -> None:
    """A file written by version 1 and what it meant, kept for good."""
    import shutil

    shutil.copytree(ROOT / "tests" / "session" / "v1", tmp_path / "v1")
    path = tmp_path / "v1" / "s.jsonl"
    report = verify_session(path, read_log(path))
    assert report.clean, report.lines
    session = load(path, writable=False)
    assert session.context.sha256() == (tmp_path / "v1" / "context.sha256").read_text().strip()
    assert session.notices == [], "whoever opens a session to view it knows that"
