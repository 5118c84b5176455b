"""Files that somebody damaged, by accident or on purpose: what can be read is read, the rest is one clear error."""

import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prunecli.features.export.exporters.formats import ENDINGS, exported
from prunecli.model.codec import MAX_DEPTH
from prunecli.model.events import Record
from prunecli.session.importers.json_rows import content_of, open_session
from prunecli.session.importers.source import read_source
from prunecli.util.errors import SessionCorrupt
from tests.context.project import project
from tests.session.importers.packing import compress
from tests.session.points import folded, valid_points
from tests.sessions import SESSIONS

IMPORTS = Path(__file__).parents[2] / "imports"
RESUMED = [
    IMPORTS / "resumed" / f"{name}.jsonl.gz" for name in ("claude-code-slash", "codex", "gemini-cli-twice")
]
SAMPLES = [*sorted(IMPORTS.glob("*.gz")), *RESUMED]
ROWS = 24


def beginning(path: Path) -> list[Any]:
    """The first rows of a sample, or its first messages; texts cut short so that many examples can be tried."""
    data = gzip.decompress(path.read_bytes()).decode()
    if path.name.endswith(".json.gz"):
        whole = json.loads(data)
        return [short({**whole, "messages": whole["messages"][:6]})]
    return [short(json.loads(line)) for line in data.splitlines()[:ROWS]]


def short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) < 300 else value[:60]
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    return [short(item) for item in value] if isinstance(value, list) else value


ALL = {path.name: beginning(path) for path in [*SAMPLES, SESSIONS[0]]}

HOSTILE = st.sampled_from(
    [
        None, True, 0, -1, 10**30, 1e308, "", "\ud800", "\x00", "user", "assistant", "tool_use", "tool_result",
        [], {}, [[]], [None], [{"type": "tool_result", "tool_use_id": 7}], {"type": "tool_use"}, [{"type": "image"}],
        [{"type": "tool_use", "id": "a", "name": "x y", "input": []}] * 2, "2099-01-01T00:00:00+99:99", "9" * 50,
    ]
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


PLACES = {name: [list(places(row)) for row in rows] for name, rows in ALL.items()}


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@st.composite
def damaged(draw: st.DrawFn, name: str) -> bytes:
    """A sample with some values replaced, rows lost, doubled or moved, and bytes cut or flipped."""
    rows = list(ALL[name])
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(rows) - 1))
        where = draw(st.sampled_from(PLACES[name][at]))
        new = draw(HOSTILE)
        try:
            rows[at] = changed(rows[at], where, new)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took this place away
    lines = [json.dumps(row).encode() for row in rows]
    for _ in range(draw(st.integers(0, 3))):
        at, to = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["lose", "double", "move"])):
            case "lose" if len(lines) > 1:
                del lines[at]
            case "double":
                lines.insert(to, lines[at])
            case _:
                lines.insert(to, lines.pop(at))
    data = bytearray(b"\n".join(lines) + b"\n")
    for _ in range(draw(st.integers(0, 2))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.sampled_from(b'\x00\xff"{}[],:\\\n'))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


def held(path: Path, data: bytes) -> list[Record]:
    """The records of a conversation that folds, is valid everywhere and can be exported; none where it is refused
    with one clear error."""
    path.write_bytes(data)
    try:
        source = read_source(path, compactions=True)
    except SessionCorrupt as error:
        refused = error.message
    else:
        refused = ""
    if refused:
        assert str(path) in refused
        assert "\n" not in refused
        return []
    assert folded(source.records).messages() == project(source.records)
    valid_points(source.records)
    for branch in source.branches:
        valid_points(branch.records)
        assert branch.records[: branch.common + 1] == source.records[: branch.common + 1]
    for name in ENDINGS:
        assert exported(source.records, name).text
    return source.records


def read_of(folder: Path, name: str, examples: int) -> tuple[int, int]:
    """How many damaged files there were, and how many of them were read all the same."""
    counts = [0, 0]

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(damaged(name))
    def each(data: bytes) -> None:
        counts[0] += 1
        counts[1] += bool(held(folder / "sample", data))

    each()
    return counts[0], counts[1]


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_damaged_file_is_read_or_refused_and_never_a_traceback(tmp_path: Path, name: str) -> None:
    total, read = read_of(tmp_path, name, 25)
    assert 0 < read <= total


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(ALL))
def test_many_damaged_files_are_read_or_refused_and_never_a_traceback(tmp_path: Path, name: str) -> None:
    total, read = read_of(tmp_path, name, 1500)
    assert 0 < read < total


@pytest.mark.parametrize("name", [name for name in sorted(ALL) if name.endswith(".jsonl.gz")])
def test_a_file_cut_at_any_line_keeps_what_stands_before(tmp_path: Path, name: str) -> None:
    lines = [json.dumps(row).encode() for row in ALL[name]]
    kept = [
        len(held(tmp_path / "sample", b"\n".join(lines[:end]) + b"\n" + lines[end][: len(lines[end]) // 2]))
        for end in range(len(lines))
    ]
    assert kept[-1] == max(kept) > 1


def test_deep_json_is_refused_before_anything_walks_it(tmp_path: Path) -> None:
    head = b'{"format":"agent-session/1"}\n'
    for depth in (MAX_DEPTH, 900, 100_000):
        deep = b'{"role":"user","content":' + b"[" * depth + b"]" * depth + b"}\n"
        (tmp_path / "deep").write_bytes(
            head + deep + b'{"role":"user","content":[{"type":"text","text":"hi"}]}\n'
        )
        source = read_source(tmp_path / "deep")
        assert len(source.notices) == 1
        assert source.notices[0].startswith("line 2: ")
    (tmp_path / "deep").write_bytes(b'{"messages":' + b"[" * 500 + b"]" * 500 + b"}")
    with pytest.raises(SessionCorrupt, match="nested"):
        read_source(tmp_path / "deep")


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(gzip.compress(b"[" * 1_000_000))
    with pytest.raises(SessionCorrupt, match="larger than 500,000 bytes"):
        content_of(tmp_path / "bomb", 500_000)
    assert len(content_of(tmp_path / "bomb", 1_000_000)) == 1_000_000


def test_a_gzip_file_of_several_members_is_read_whole_and_a_cut_one_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b"one\n") + gzip.compress(b"two\n")
    (tmp_path / "x").write_bytes(packed)
    assert content_of(tmp_path / "x") == b"one\ntwo\n"
    (tmp_path / "x").write_bytes(packed[:-12])
    with pytest.raises(SessionCorrupt, match="gzip"):
        content_of(tmp_path / "x")


def test_a_zstd_file_is_read_whole_and_bounded(tmp_path: Path) -> None:
    skipped = b"\x5a\x2a\x4d\x18\x03\0\0\0abc"
    packed = skipped + compress(b"one\n") + skipped + compress(b"two\n") + b"no frame"
    (tmp_path / "x").write_bytes(packed)
    assert content_of(tmp_path / "x") == b"one\ntwo\n"
    (tmp_path / "x").write_bytes(compress(b"[" * 1_000_000))
    assert len(content_of(tmp_path / "x", 1_000_000)) == 1_000_000
    with pytest.raises(SessionCorrupt, match="larger than 500,000 bytes"):
        content_of(tmp_path / "x", 500_000)


def test_a_zstd_bomb_takes_little_memory_although_it_has_no_line_end(tmp_path: Path) -> None:
    bomb = compress(b"[" * 100_000_000)
    (tmp_path / "bomb").write_bytes(bomb * 20)
    tracemalloc.start()
    try:
        with (
            pytest.raises(SessionCorrupt, match="larger"),
            open_session(tmp_path / "bomb", 2_000_000) as file,
        ):
            list(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("x.jsonl.zst", lambda packed: packed[:-1], "damaged zstd file: truncated"),
        ("x.jsonl.zst", lambda packed: packed[:20] + b"\xff" * 20 + packed[40:], "damaged zstd file: "),
        ("x.jsonl.zst", lambda packed: b"\x7fELF" + packed, "not a zstd file"),
        ("x.jsonl.gz", lambda packed: b"\x7fELF" + packed, "not a gzip file"),
        ("x.jsonl.zst", lambda packed: b"", "the file is empty"),
    ],
)
def test_a_damaged_zstd_file_is_one_clear_error(
    tmp_path: Path, name: str, change: Callable[[bytes], bytes], why: str
) -> None:
    rows = "".join(json.dumps(row) + "\n" for row in ALL["pi-1.jsonl.gz"]).encode()
    (tmp_path / name).write_bytes(compress(rows))
    assert read_source(tmp_path / name).kind == "pi"
    (tmp_path / name).write_bytes(change(compress(rows)))
    with pytest.raises(SessionCorrupt) as refused:
        read_source(tmp_path / name)
    assert f"{name}: " in refused.value.message
    assert why in refused.value.message
    assert "\n" not in refused.value.message


def test_an_empty_file_has_no_line_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").touch()
    with pytest.raises(SessionCorrupt) as refused:
        read_source(tmp_path / "x.jsonl")
    assert refused.value.message == f"{tmp_path / 'x.jsonl'}: the file is empty"


@pytest.mark.parametrize(
    "value", ["3", '"text"', "[]", "{}", "null", '{"type":"user"}', "[1,2]", '{"messages":3}']
)
def test_json_that_is_no_session_is_one_clear_error(tmp_path: Path, value: str) -> None:
    (tmp_path / "x.json").write_text(value)
    with pytest.raises(SessionCorrupt, match=r"x\.json: line"):
        read_source(tmp_path / "x.json")
