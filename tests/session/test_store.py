"""Lists of sessions, and finding one: with an index that may be missing, stale, damaged or unwritable."""

import os
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prunecli.model.events import CompactionApplied, Spilled, ToolResult, UserMessage
from prunecli.model.messages import Blob, Text, Usage
from prunecli.session import index as index_module
from prunecli.session.blobs import Blobs
from prunecli.session.digest import Digest
from prunecli.session.importers.source import read_source
from prunecli.session.index import File, Index, read
from prunecli.session.log import read_log
from prunecli.session.session_search import search
from prunecli.session.store import INDEX_NAME, Store
from prunecli.util.errors import SessionNotFound
from tests.session.written import answer, lines, named, prompt, session


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "sessions")


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def index_of(store: Store) -> Path:
    return store.root / INDEX_NAME


def as_file(path: Path) -> File:
    status = path.stat()
    return File(str(path), status.st_ino, status.st_size, status.st_mtime_ns)


def test_a_session_that_begins_with_a_large_text_has_a_title(store: Store, cwd: Path) -> None:
    large = UserMessage((Blob("0" * 64, 75_745, "text/plain"),))
    image = UserMessage((Blob("1" * 64, 9_000, "image/png"),))
    session(store, cwd, "20260101-000000-aaaaaa", [large, answer(), prompt("and?")])
    session(store, cwd, "20260101-000000-bbbbbb", [image, answer()])
    titles = {one.id[-6:]: (one.title, one.digest.last) for one in store.list()}
    assert titles == {"aaaaaa": ("(75.7KB of text)", "and?"), "bbbbbb": ("", "")}


def test_a_list_says_what_a_session_holds(store: Store, cwd: Path) -> None:
    said = [
        prompt("fix the parser\nplease"),
        answer(),
        answer(tokens=500),
        prompt("  and the lexer "),
        named("big fix"),
    ]
    summary = CompactionApplied("so far", 1, 2, model="claude-haiku-5", usage=Usage(7, 3))
    session(store, cwd, "20260101-000000-aaaaaa", [*said, summary], parent={"id": "older", "seq": 2})
    (one,) = store.list()
    digest = one.digest
    assert (one.id, one.cwd, one.name) == ("20260101-000000-aaaaaa", str(cwd), "big fix")
    assert (one.title, one.label) == ("The lexer", "big fix")
    assert (digest.first, digest.last, digest.parent) == ("fix the parser\nplease", "and the lexer", "older")
    assert (digest.prompts, digest.entries, digest.context) == (2, 4, 500 + 1_000 + 50)
    own = {"claude-sonnet-5-5": [1, 500, 10, 1_000, 50], "claude-haiku-5": [1, 7, 3, 0, 0]}
    assert digest.spent == own, "the first answer is in the copied part"


def test_without_a_name_what_the_first_prompt_asks_for_is_the_title(store: Store, cwd: Path) -> None:
    session(store, cwd, "a1", [prompt("fix the parser\nplease")])
    assert store.list()[0].label == "Fix the parser"


def test_the_last_changed_comes_first_and_a_directory_has_its_own(
    store: Store, cwd: Path, tmp_path: Path
) -> None:
    session(store, cwd, "old", changed=1_000)
    session(store, cwd, "new", changed=3_000)
    session(store, tmp_path, "elsewhere", changed=2_000)
    assert [one.id for one in store.list()] == ["new", "elsewhere", "old"]
    assert [one.id for one in store.list(cwd)] == ["new", "old"]
    assert store.last(cwd).stem == "new"


def test_files_that_are_no_sessions_and_such_as_cannot_be_read_are_passed_over(
    store: Store, cwd: Path
) -> None:
    good = session(store, cwd, "good", [prompt("hi")])
    (good.parent / "notes.jsonl").write_text('{"type":"user"}\n')
    (good.parent / "empty.jsonl").write_bytes(b"")
    (good.parent / "binary.jsonl").write_bytes(bytes(range(256)) * 50)
    (good.parent / "folder.jsonl").mkdir()
    (good.parent / "gone.jsonl").symlink_to(good.parent / "nowhere")
    (store.root / "stray.jsonl").write_bytes(good.read_bytes())
    for _ in range(2):
        assert [one.id for one in store.list()] == ["good"]
    assert store.last(cwd) == good
    with pytest.raises(SessionNotFound):
        store.find("notes")


@pytest.fixture(params=["fifo", "socket", "device", "folder"])
def irregular(request: pytest.FixtureRequest, store: Store, cwd: Path) -> Iterator[Path]:
    """Something that is no file under the name of a session that is newer than the real one."""
    session(store, cwd, "20260101-000000-aaaaaa", [prompt("hello")], changed=1_700_000_000)
    path = store.new_path(cwd, "20260102-000000-bbbbbb")
    with socket.socket(socket.AF_UNIX) as server:
        match request.param:
            case "fifo":
                os.mkfifo(path)
            case "socket":
                here = os.open(path.parent, os.O_RDONLY)
                server.bind(f"/proc/self/fd/{here}/{path.name}")
                os.close(here)
            case "device":
                path.symlink_to("/dev/zero")
            case _:
                path.mkdir()
        yield path


def test_what_is_no_regular_file_is_no_session_and_holds_nobody_up(
    store: Store, cwd: Path, irregular: Path
) -> None:
    assert [one.id for one in store.list()] == ["20260101-000000-aaaaaa"]
    assert store.last(cwd).stem == "20260101-000000-aaaaaa"
    assert store.find("2026").stem == "20260101-000000-aaaaaa"
    with pytest.raises(SessionNotFound, match=f"{irregular} is not a session"):
        store.find(irregular.stem)
    with pytest.raises(OSError, match="not a regular file"):
        read_log(irregular)
    assert list(search([irregular], "hello")) == []
    with pytest.raises(OSError, match="not a regular file"):
        read_source(irregular)


def test_a_search_finds_words_of_a_result_too_long_for_the_log(store: Store, cwd: Path) -> None:
    text = "".join(f"number {number} of the output\n" for number in range(5_000))
    result = ToolResult("t1", "bash", (Text(text),), spilled=Spilled(30_000, "number 0 of the output"))
    kept = Blobs(store.new_path(cwd, "long").parent / "blobs").stored(result)
    path = session(store, cwd, "long", [prompt("count"), kept])
    assert b"number 4321 of" not in path.read_bytes()
    (hit,) = [one for one in search([path], "4321") if not isinstance(one, int)]
    assert (hit.who, hit.excerpt[hit.at : hit.end]) == ("bash", "4321")
    assert not [one for one in search([path], "5001") if not isinstance(one, int)]


def test_damaged_lines_do_not_keep_a_session_out_of_the_list(store: Store, cwd: Path) -> None:
    path = session(store, cwd, "hurt", [prompt("first"), prompt("second"), answer(), named("kept")])
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"first"', b'"fir5t"') + b"\0\0\0\n" + data[:40])
    (one,) = store.list()
    assert (one.name, one.digest.first) == ("kept", "second")


def test_a_list_and_a_search_stop_at_a_damaged_line_that_is_longer_than_any_record(
    store: Store, cwd: Path
) -> None:
    path = session(store, cwd, "hurt", [prompt("first")])
    good = path.stat().st_size
    os.truncate(path, good + 80_000_000)
    with path.open("ab") as file:
        file.write(b"\n")
    session(store, cwd, "whole", [prompt("second")])
    with path.open("ab") as file:
        file.write(store.find("whole").read_bytes())
    assert {one.id: one.digest.prompts for one in store.list()} == {"hurt": 1, "whole": 1}
    assert [one for one in search([path], "first second") if isinstance(one, int)] == [good]
    path.write_bytes(b"")
    os.truncate(path, 80_000_000)
    assert [one.id for one in store.list()] == ["whole"]
    assert store.last(cwd).stem == "whole"


def test_a_session_whose_first_record_is_damaged_is_listed_and_found(store: Store, cwd: Path) -> None:
    path = session(store, cwd, "first", [prompt("still here")])
    path.write_bytes(path.read_bytes().replace(b'"cwd"', b'"cwt"', 1))
    assert [(one.id, one.title) for one in store.list()] == [("first", "Still here")]
    assert store.find("first") == store.last(cwd) == path


@pytest.mark.parametrize(
    "change", [lambda data: data.replace(b"\n", b"\r\n"), lambda data: b"\xef\xbb\xbf" + data]
)
def test_a_converted_file_is_listed_too(store: Store, cwd: Path, change) -> None:
    path = session(store, cwd, "conv", [prompt("hello"), answer()])
    path.write_bytes(change(path.read_bytes()).rstrip(b"\r\n"))
    (one,) = store.list()
    assert (one.digest.first, one.digest.entries) == ("hello", 2)


# Finding -----------------------------------------------------------------------------------------------------


def test_a_session_is_found_by_id_by_a_prefix_of_one_and_by_name(store: Store, cwd: Path) -> None:
    first = session(store, cwd, "20260101-aa", [named("parser work")])
    second = session(store, cwd, "20260102-bb", [named("twice")])
    session(store, cwd, "20260102-cc", [named("twice")])
    assert store.find("20260101-aa") == store.find("20260101") == store.find("parser work") == first
    assert store.find("20260102-b") == second
    for wanted, why in [("20260102", "2 sessions start"), ("thrice", "no session"), ("", "no session")]:
        with pytest.raises(SessionNotFound, match=why):
            store.find(wanted)


def test_a_name_that_several_sessions_have_is_not_guessed_but_told_apart(store: Store, cwd: Path) -> None:
    session(store, cwd, "older", [named("twice")], changed=1_000)
    session(store, cwd, "newer", [named("twice")], changed=2_000)
    session(store, cwd, "renamed", [named("twice"), named("once")], changed=3_000)
    with pytest.raises(SessionNotFound, match="2 sessions are named 'twice'") as caught:
        store.find("twice")
    assert caught.value.hint == "use an id, newest first: newer, older"
    for number in range(6):
        session(store, cwd, f"more{number}", [named("twice")])
    with pytest.raises(SessionNotFound, match="8 sessions are named") as caught:
        store.find("twice")
    assert caught.value.hint.count("more") == 5
    assert caught.value.hint.endswith(", …")


def test_a_name_counts_more_than_the_beginning_of_several_ids(store: Store, cwd: Path) -> None:
    session(store, cwd, "2026-aa")
    path = session(store, cwd, "2026-bb", [named("2026")])
    assert store.find("2026") == path


def test_a_copys_name_has_the_first_number_that_is_free(store: Store, cwd: Path, tmp_path: Path) -> None:
    assert store.free_name("fix") == "fix (2)"
    session(store, cwd, "a", [named("fix")])
    session(store, tmp_path, "b", [named("fix (2)")])
    session(store, cwd, "c", [named("fix (4)")])
    assert store.free_name("fix") == store.free_name("fix (2)") == store.free_name("fix (4)") == "fix (3)"
    assert store.free_name("(2)") == "(2) (2)"


def test_an_id_that_is_the_beginning_of_another_is_found(store: Store, cwd: Path) -> None:
    path = session(store, cwd, "abc")
    session(store, cwd, "abcd")
    assert store.find("abc") == path


@pytest.mark.parametrize("wanted", ["../../etc/passwd", "/etc/passwd", "a\0b", "x" * 300, "-rf", "."])
def test_no_id_leads_out_of_the_folder(store: Store, cwd: Path, wanted: str) -> None:
    session(store, cwd, "abc")
    with pytest.raises(SessionNotFound):
        store.find(wanted)


# The index ---------------------------------------------------------------------------------------------------


def test_a_thousand_sessions_are_listed_without_being_opened_again(store: Store, cwd: Path) -> None:
    for number in range(1_000):
        session(store, cwd, f"s{number}", [prompt(f"work on part {number}"), answer()], changed=number + 1)
    listed = store.list()
    assert len(listed) == 1_000
    for one in listed:
        status = one.path.stat()
        with one.path.open("r+b") as file:  # as nothing but a test does: other bytes, all else the same
            file.write(b"x" * status.st_size)
        os.utime(one.path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert store.list() == listed
    index_of(store).unlink()
    assert store.list() == []


def test_only_what_was_added_is_read(store: Store, cwd: Path) -> None:
    path = session(store, cwd, "grows", [prompt("one")])
    row = read(as_file(path))
    assert row
    assert row.read == path.stat().st_size
    with path.open("ab") as file:
        file.write(lines([prompt("two"), named("later")], 2))
    known = index_module.IndexRow(
        row.file, row.read, row.mark, Digest(**{**_fields(row.digest), "first": "from the index"})
    )
    again = read(as_file(path), known)
    assert again
    assert (again.digest.first, again.digest.last) == ("from the index", "two")
    assert again.digest.name == "later"


def _fields(digest: Digest) -> dict[str, object]:
    return {name: getattr(digest, name) for name in digest.__slots__}


def test_a_file_that_was_replaced_is_read_from_its_beginning(store: Store, cwd: Path) -> None:
    path = session(store, cwd, "same", [prompt("before")])
    store.list()
    path.write_bytes(path.read_bytes().replace(b"before", b"BEFORE") + b"x" * 500)  # damaged, and longer
    assert store.list()[0].digest.first == ""


@pytest.mark.parametrize(
    "damage", [b"", b"not a database at all" * 300, b"SQLite format 3\0" + b"\xff" * 5_000]
)
def test_a_damaged_index_is_made_anew(store: Store, cwd: Path, damage: bytes) -> None:
    session(store, cwd, "one", [prompt("hi")])
    before = store.list()
    index_of(store).write_bytes(damage)
    assert store.list() == before
    assert store.list() == before
    database = sqlite3.connect(index_of(store))
    assert database.execute("select count(*) from session").fetchone() == (1,)
    database.close()


def test_an_index_of_another_version_is_made_anew(store: Store, cwd: Path) -> None:
    session(store, cwd, "one", [prompt("hi")])
    before = store.list()
    database = sqlite3.connect(index_of(store))
    database.executescript("drop table session; create table session (x); pragma user_version = 99")
    database.close()
    assert store.list() == before


def test_rows_that_make_no_sense_are_read_again(store: Store, cwd: Path) -> None:
    session(store, cwd, "one", [prompt("hi")])
    before = store.list()
    database = sqlite3.connect(index_of(store), isolation_level=None)
    for text in ("", "[]", '{"id":1}', "\x00"):
        database.execute("update session set digest = ?", (text,))
        assert store.list() == before
    database.close()


def test_the_index_is_for_its_owner_only_and_never_a_link(store: Store, cwd: Path, tmp_path: Path) -> None:
    session(store, cwd, "one", [prompt("secret")])
    store.list()
    assert index_of(store).stat().st_mode & 0o777 == 0o600
    index_of(store).unlink()
    planted = tmp_path / "planted"
    index_of(store).symlink_to(planted)
    assert len(store.list()) == 1
    assert not planted.exists()


def test_a_folder_that_cannot_be_written_is_listed_without_an_index(store: Store, cwd: Path) -> None:
    session(store, cwd, "one", [prompt("hi")])
    index_of(store).mkdir()  # nothing can be made there, not even by root
    assert [one.digest.first for one in store.list()] == ["hi"]


def test_another_process_at_the_index_holds_nobody_up(store: Store, cwd: Path) -> None:
    session(store, cwd, "one", [prompt("hi")])
    store.list()
    database = sqlite3.connect(index_of(store), isolation_level=None)
    database.execute("begin exclusive")
    session(store, cwd, "two", [prompt("there")])
    assert {one.digest.first for one in store.list()} == {"hi", "there"}
    database.execute("rollback")
    database.close()


def test_deleted_sessions_leave_the_index(store: Store, cwd: Path, tmp_path: Path) -> None:
    session(store, tmp_path, "kept")
    session(store, cwd, "gone").unlink()
    path = session(store, cwd, "gone")
    store.list()
    path.unlink()
    session(store, cwd, "other")
    assert {one.id for one in store.list(cwd)} == {"other"}
    database = sqlite3.connect(index_of(store))
    paths = {os.fsdecode(row[0]) for row in database.execute("select path from session")}
    database.close()
    assert {Path(one).stem for one in paths} == {"kept", "other"}


def test_a_list_that_is_left_early_keeps_what_it_found_and_forgets_nothing(store: Store, cwd: Path) -> None:
    for number in range(5):
        session(store, cwd, f"s{number}", changed=1_000 + number)
    store.list()
    index = Index(index_of(store))
    files = [as_file(path) for path in sorted(store.new_path(cwd, "x").parent.glob("*.jsonl"))]
    some = index.digests(files, within=str(store.root))
    next(some)
    some.close()
    database = sqlite3.connect(index_of(store))
    assert database.execute("select count(*) from session").fetchone() == (5,)
    database.close()


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "rename", "name", "damage", "cut", "delete", "tear", "new"]),
        st.integers(0, 999),
    ),
    max_size=12,
)


def test_the_index_reads_again_a_last_line_that_had_no_end_when_it_grew(store: Store, cwd: Path) -> None:
    path = session(store, cwd, "s0", [prompt("begin"), prompt("go on")])
    path.write_bytes(path.read_bytes()[:-1])
    store.list()
    path.open("ab").write(lines([prompt("more")], 5))
    anew = read(as_file(path))
    assert [one.digest for one in store.list()] == [anew.digest if anew else None]


@settings(deadline=None, max_examples=30)
@given(ACTS)
def test_the_index_always_says_what_a_new_one_would(tmp_path_factory: pytest.TempPathFactory, acts) -> None:
    folder = tmp_path_factory.mktemp("law")
    store, cwd = Store(folder / "sessions"), folder
    session(store, cwd, "s0", [prompt("begin")])
    for step, (act, number) in enumerate(acts):
        paths = sorted(store.new_path(cwd, "x").parent.glob("*.jsonl"))
        _do(store, cwd, act, number, step, paths)
        paths = sorted(store.new_path(cwd, "x").parent.glob("*.jsonl"))
        anew = {
            path: row.digest
            for path in paths
            if (row := read(as_file(path))) and (row.digest.id or row.digest.entries)
        }
        assert {one.path: one.digest for one in store.list()} == anew


def _do(store: Store, cwd: Path, act: str, number: int, step: int, paths: list[Path]) -> None:
    if act == "new" or not paths:
        session(store, cwd, f"s{step}-{number}", [prompt(f"new {number}")])
        return
    path = paths[number % len(paths)]
    data = path.read_bytes()
    if act == "append":
        path.open("ab").write(lines([prompt(f"more {number}"), answer(tokens=number)], 5 + step))
    elif act == "name":
        path.open("ab").write(lines([named(f"name {number}")], 5 + step))
    elif act == "tear":
        path.open("ab").write(lines([prompt("torn")], 5 + step)[: 5 + number % 60])
    elif act == "rename":
        path.rename(path.with_name(f"r{step}-{number}.jsonl"))
    elif act == "cut":
        path.write_bytes(data[: number % (len(data) + 1)])
    elif act == "delete":
        path.unlink()
    elif data:
        at = number % len(data)
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        os.utime(path, ns=(1, path.stat().st_mtime_ns + 1 + step))
