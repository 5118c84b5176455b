"""Reading a long session: in steps, its end first, and always to the same as reading it at once."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import AssistantMessage, Record, Rewound, SessionStarted, UserMessage
from prunecli.model.messages import Text, ToolUse
from prunecli.model.record_codec import encode_record
from prunecli.session import session as session_module
from prunecli.session.loading import LEAST_RECORDS, TAIL_BYTES, last_record, tail
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.writer import LogWriter
from prunecli.util.errors import SessionCorrupt, SessionLocked
from tests.laws.logs import logs
from tests.session.written import answer, lines, prompt


def written(folder: Path, records: list[Record], damage: bytes = b"") -> Path:
    """A session file of these records, which begin at seq 0, after its first record."""
    path = folder / "s.jsonl"
    first = Record(0, 1_600_000_000_000, SessionStarted("s", "/w", "m"))
    shifted = [Record(record.seq + 1, record.timestamp, record.event) for record in records]
    path.write_bytes(b"".join(map(encode_record, [first, *shifted])) + damage)
    return path


def in_steps(path: Path, *, writable: bool = False) -> tuple[Session, list[Record]]:
    """The session, and the records that its steps told."""
    steps = Session.load_steps(path, Context(Chars4()), writable=writable)
    told: list[Record] = []
    while True:
        try:
            told += next(steps).records
        except StopIteration as end:
            return end.value, told


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(logs(), st.sampled_from([300, 4_000]), st.binary(max_size=40))
def test_in_steps_it_is_the_session_that_is_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], step: int, damage: bytes
) -> None:
    path = written(tmp_path_factory.mktemp("steps"), records, damage)
    before, session_module.STEP_BYTES = session_module.STEP_BYTES, step
    try:
        stepped, told = in_steps(path)
    finally:
        session_module.STEP_BYTES = before
    whole = Session.load(path, Context(Chars4()), writable=False)
    assert stepped.records == whole.records == told == read_log(path).records
    assert stepped.notices == whole.notices
    assert stepped.context.messages() == whole.context.messages()
    assert stepped.context.sha256() == whole.context.sha256()
    assert stepped.context.counts.context_tokens == whole.context.counts.context_tokens


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(logs(), st.integers(1, 3_000))
def test_the_tail_is_the_end_of_what_the_whole_file_gives(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], most_bytes: int
) -> None:
    path = written(tmp_path_factory.mktemp("tail"), records)
    whole = read_log(path).records
    end = tail(path, most_bytes)
    assert end == whole[len(whole) - len(end) :]
    assert last_record(path) == whole[-1]
    if end:
        assert isinstance(end[0].event, UserMessage | AssistantMessage)
        assert not any(isinstance(record.event, Rewound) for record in end)


def test_a_tail_has_enough_for_a_screen_and_little_more(tmp_path: Path) -> None:
    path, found = tmp_path / "s.jsonl", dict[int, int]()
    for length in (20, 1_000):
        path.write_bytes(lines([SessionStarted("s", "/w", "m"), *[prompt("a" * length)] * 1_000]))
        found[length] = len(tail(path))
    assert LEAST_RECORDS <= found[20] < TAIL_BYTES // 400, "short records: a quarter of the bytes is enough"
    assert LEAST_RECORDS < found[1_000] < TAIL_BYTES // 1_000, "longer ones: all of the bytes"


def test_a_tail_of_one_huge_record_is_found(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines([SessionStarted("s", "/w", "m"), prompt("a"), answer("long " * 200_000)]))
    assert [record.seq for record in tail(path, 1_000)] == [1, 2]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\0" * 5_000, b"x" * 5_000, b'{"seq":1}\n'])
def test_a_file_without_records_has_no_tail_and_says_why_when_it_is_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    assert tail(path, 100) == []
    assert last_record(path) is None
    with pytest.raises(SessionCorrupt):
        in_steps(path)


def test_damage_at_the_end_leaves_the_tail_before_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        lines([SessionStarted("s", "/w", "m"), prompt("a"), answer("b")]) + b'{"seq":3,"times\0\0'
    )
    assert [record.seq for record in tail(path)] == [1, 2]


def test_the_first_step_takes_the_lock_and_leaving_lets_it_go(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines([SessionStarted("s", "/w", "m"), prompt("a"), answer("b")]))
    steps = Session.load_steps(path, Context(Chars4()), writable=True)
    assert next(steps).records == []
    with pytest.raises(SessionLocked):
        LogWriter(path)
    next(steps)
    steps.close()
    LogWriter(path).close()


def test_a_call_that_a_crash_left_open_is_answered_after_the_last_step(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    call = AssistantMessage((Text("x"), ToolUse("t1", "bash", {"command": "ls"})), stop_reason="tool_use")
    path.write_bytes(lines([SessionStarted("s", "/w", "m"), prompt("a"), call]))
    session, told = in_steps(path, writable=True)
    assert len(told) == 3
    assert [record.seq for record in session.records] == [0, 1, 2, 3]
    session.close()
