"""Session files at URLs: read like local ones, and nothing that a server says becomes a path or shows a secret."""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from typer.testing import CliRunner

from prunecli.cli.app import app
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import SessionStarted, UserMessage
from prunecli.model.messages import Blob, Text
from prunecli.session.importers.json_rows import MAX_BYTES
from prunecli.session.importers.remote import plain
from prunecli.session.importers.remote_finding import found_at, is_url, one_at
from prunecli.session.importers.source import read_source
from prunecli.session.session import Session
from prunecli.util.errors import SessionCorrupt, SessionNotFound, UsageError
from tests.session.importers.packing import compress
from tests.sessions import SESSIONS

SMALL = [path for path in SESSIONS if path.stat().st_size < 8_000]
SECRET = "https://me:hunter2@host/a.jsonl?sig=hunter2"


class Hostile(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """A server that answers everything with an error that repeats the whole address; one file never ends."""

    protocol = "hostile"
    asked: ClassVar[list[int]] = []

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": None, "type": "file"}

    def open(self, path: str, *_: Any, **__: Any) -> Any:
        if "endless" in path:
            return _Endless(self.asked)
        raise RuntimeError(f"400, message='Bad\x1b[2J', url='{SECRET}'")


class _Endless(io.BytesIO):
    def __init__(self, asked: list[int]) -> None:
        super().__init__(b"\0" * 9)
        self._asked = asked

    def read(self, size: int | None = -1, /) -> bytes:
        self._asked.append(-1 if size is None else size)
        return super().read(size)


fsspec.register_implementation("hostile", Hostile)
fsspec.register_implementation("lacking", "no_such_package.Files", errtxt="Install no_such_package")


@pytest.fixture
def bucket() -> Iterator[Any]:
    """A bucket at memory://team."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


def urls(url: str) -> list[str]:
    return [str(one) for one in found_at(url, [])]


def test_what_is_a_url() -> None:
    found = ["s3://b/x", "simplecache::s3://b", "zip://*.jsonl::https://h/a.zip", "memory://"]
    assert [
        text for text in (*found, "C://x", "a.jsonl", "@codex:last", "/a/b", "x:y") if is_url(text)
    ] == found


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_each_format_is_read_as_from_the_disk(bucket: Any, path: Path) -> None:
    bucket.pipe(f"/team/{path.name}", path.read_bytes())
    remote = one_at(f"memory://team/{path.name}")
    assert str(remote) == f"memory:///team/{path.name}"
    assert read_source(remote).records == read_source(path).records
    bucket.pipe("/team/a.jsonl.zst", compress(b"{"))
    with pytest.raises(SessionCorrupt, match=r"^memory:///team/a\.jsonl\.zst: line 1: "):
        read_source(one_at("memory://team/a.jsonl.zst"))


def test_its_blobs_are_read_beside_it(bucket: Any, tmp_path: Path) -> None:
    long = UserMessage((Text("é" * 40_000),))
    session = Session(
        SessionStarted("s", "/w", "m"), Context(Chars4()), path=tmp_path / "s.jsonl", clock=lambda: 1
    )
    session.emit(long)
    session.close()
    bucket.put(str(tmp_path), "/team", recursive=True)
    assert read_source(one_at("memory://team/s.jsonl")).records[-1].event == long
    bucket.rm("/team/blobs", recursive=True)
    without = read_source(one_at("memory://team/s.jsonl"))
    assert isinstance(without.records[-1].event, UserMessage)
    assert isinstance(without.records[-1].event.content[0], Blob)
    assert [notice.partition(": ")[2] for notice in without.notices] == ["no such file"]


def test_folders_and_patterns_give_the_sessions_in_them(bucket: Any) -> None:
    for name in ("a.jsonl", "b/c.json.gz", "b/notes.txt", "b/blobs/0a"):
        bucket.pipe(f"/team/{name}", b"{}")
    assert urls("memory://team") == ["memory:///team/a.jsonl", "memory:///team/b/c.json.gz"]
    assert urls("memory://team/*.jsonl") == ["memory:///team/a.jsonl"]
    assert urls("memory://team/**/*.txt") == []
    with pytest.raises(SessionNotFound, match="2 session files"):
        one_at("memory://team")
    with pytest.raises(SessionNotFound, match=r"memory://team/none\.jsonl: no such file"):
        one_at("memory://team/none.jsonl")


def test_only_regular_files_are_sessions_at_a_file_url(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}")
    os.mkfifo(tmp_path / "b.jsonl")
    (tmp_path / "round").symlink_to(tmp_path, target_is_directory=True)
    assert f"file://{tmp_path}/a.jsonl" in urls(f"file://{tmp_path}")
    assert not [url for url in urls(f"file://{tmp_path}") if "b.jsonl" in url]
    with pytest.raises(SessionNotFound, match="not a file"):
        one_at(f"file://{tmp_path}/b.jsonl")


def test_names_in_a_listing_are_only_names(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = (
        "/team/../../out.jsonl",
        "/team//etc/passwd.jsonl",
        "/team/\x1b[2J\nbad.jsonl",
        "/team/a b?.jsonl",
    )
    bucket.store.update({name: bucket.store.get(name) or _file(bucket, name) for name in names})
    found = found_at("memory://team", [])
    assert len(found) == len(names)
    for one in found:
        assert "\x1b" not in str(one)
        assert "\n" not in str(one)
        assert [record.event for record in read_source(one).records if isinstance(record.event, UserMessage)]
    assert list(tmp_path.iterdir()) == []


def _file(bucket: Any, name: str) -> Any:
    bucket.pipe(name, b'{"messages": [{"role": "user", "content": "hi"}]}')
    return bucket.store[name]


def test_no_message_repeats_a_credential() -> None:
    assert plain(SECRET) == "https://host/a.jsonl"
    assert plain(f"zip://a?x=1::{SECRET}") == "zip://a::https://host/a.jsonl"
    with pytest.raises(OSError) as failed:
        read_source(one_at("hostile://a.jsonl"))
    assert failed.value.strerror == "400, message='Bad␛[2J', url='https://host/a.jsonl'"


def test_a_file_without_an_end_is_read_to_the_limit() -> None:
    with pytest.raises(SessionCorrupt):
        read_source(one_at("hostile://endless.jsonl"))
    assert Hostile.asked == [MAX_BYTES + 1]


def test_a_missing_package_is_named() -> None:
    with pytest.raises(UsageError, match=r"^lacking://a: Install no_such_package$"):
        found_at("lacking://me:pw@a", [])


@pytest.mark.slow
def test_the_commands_read_urls(bucket: Any, tmp_path: Path) -> None:
    runner = CliRunner(env={"HOME": str(tmp_path), "PRUNECLI_HOME": str(tmp_path / "data"), "TZ": "UTC"})
    for path in SMALL:
        bucket.pipe(f"/team/{path.name}", path.read_bytes())
    bucket.pipe("/team/bad.jsonl", b"[1")

    def run(*words: str) -> Any:
        done = runner.invoke(app, list(words))
        assert done.exit_code == 0, done.output
        return done

    one = f"memory:///team/{SMALL[0].name}"
    assert f'"session": "{one}"' in run("replay", one, "--strategy", "pi", "--json").stdout
    assert run("context", one, "--json").stdout == run("context", str(SMALL[0]), "--json").stdout
    there, here = run("sessions", "stats", "memory://team"), run("sessions", "stats", *map(str, SMALL))
    assert there.stdout == here.stdout
    assert "prunecli: memory:///team/bad.jsonl: line 1: " in there.stderr
    for words in (
        ("replay", "lacking://a"),
        ("context", "lacking://a"),
        ("sessions", "stats", "lacking://a"),
    ):
        assert runner.invoke(app, list(words)).exit_code == 2
