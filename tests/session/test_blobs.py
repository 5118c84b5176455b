"""Payloads beside the log: there before their record and durable before it, and never taken for what they are not."""

import base64
import os
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import Record, SessionStarted, ToolResult, UserMessage
from prunecli.model.messages import Blob, Image, Text
from prunecli.model.record_codec import encode_record
from prunecli.session.blobs import INLINE_BYTES, Blobs
from prunecli.session.session import Session
from prunecli.session.writer import LogWriter
from prunecli.util.errors import StorageFailed
from tests.faults.disks import can_mount, small_disk

LONG = Text("é" * 40_000)


def new(path: Path) -> Session:
    return Session(SessionStarted("s", "/w", "m"), Context(Chars4()), path=path, clock=lambda: 1)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_no_text_over_the_limit_stands_in_the_log(tmp_path: Path) -> None:
    """What is larger than 64 KiB lies beside it."""
    session = new(tmp_path / "s.jsonl")
    for size in (INLINE_BYTES, INLINE_BYTES + 1, 5_000_000):
        session.emit(ToolResult("t", "bash", (Text("x" * size),)))
    session.close()
    lines = (tmp_path / "s.jsonl").read_bytes().splitlines()
    assert max(map(len, lines)) < INLINE_BYTES + 300
    assert len(names(tmp_path / "blobs")) == 2


def test_blobs_are_the_users_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        session = new(tmp_path / "deep" / "er" / "s.jsonl")
        session.emit(UserMessage((LONG,)))
        session.commit()
    finally:
        os.umask(before)
    for path in (tmp_path / "deep").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert (tmp_path / "deep").stat().st_mode & 0o777 == 0o700


def test_a_blob_is_durable_before_the_record_that_names_it(tmp_path: Path) -> None:
    """As far as it can be played: the order of the syncs."""
    order: list[str] = []

    def sync(what: str) -> Callable[[int], None]:
        def noted(descriptor: int) -> None:
            order.append(what)
            os.fsync(descriptor)

        return noted

    session = Session(
        SessionStarted("s", "/w", "m"),
        Context(Chars4()),
        path=tmp_path / "s.jsonl",
        open_log=lambda path: LogWriter(path, sync=sync("log")),
    )
    session._blobs = Blobs(tmp_path / "blobs", sync=sync("blob"))
    session.emit(UserMessage((LONG,)))
    assert order == []
    session.commit()
    session.commit()
    assert order == ["blob", "log"]


def test_what_is_acknowledged_is_in_what_was_synced_last(tmp_path: Path) -> None:
    """As far as it can be played: of the file only what the last sync saw is left."""
    path, synced = tmp_path / "s.jsonl", [b""]

    def sync(_: int) -> None:
        synced[0] = path.read_bytes()

    session = Session(
        SessionStarted("s", "/w", "m"),
        Context(Chars4()),
        path=path,
        open_log=lambda path: LogWriter(path, sync=sync),
    )
    for number in range(100):
        for _ in range(number % 4):
            session.emit(UserMessage((Text(f"words {number}"),)))
        session.commit()
        assert synced[0].count(b"\n") == len(session.records), "acknowledged and not durable"


def test_a_failed_sync_of_a_blob_is_written_anew_before_it_counts(tmp_path: Path) -> None:
    broken = [True]

    def sync(descriptor: int) -> None:
        if broken[0]:
            raise OSError(5, "Input/output error")
        os.fsync(descriptor)

    blobs = Blobs(tmp_path / "blobs", sync=sync)
    name = blobs.keep(b"x" * 100).sha256
    for _ in range(2):
        with pytest.raises(StorageFailed, match="Input/output error"):
            blobs.commit()
    (tmp_path / "blobs" / name).write_bytes(b"\0" * 100)  # the system dropped it
    broken[0] = False
    blobs.commit()
    assert (tmp_path / "blobs" / name).read_bytes() == b"x" * 100


@pytest.mark.skipif(not can_mount(), reason="needs a file system of its own")
def test_a_blob_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as folder:
        session = new(folder / "s.jsonl")
        session.emit(UserMessage((Text("hi"),)))
        with pytest.raises(StorageFailed, match="No space left"):
            session.emit(UserMessage((Text("x" * 200_000),)))
        assert len(session.records) == 2
        assert names(folder / "blobs") == []
        session.emit(UserMessage((Text("small"),)))


def test_a_blob_that_was_altered_is_stored_anew_when_it_is_said_again(tmp_path: Path) -> None:
    session = new(tmp_path / "s.jsonl")
    session.emit(UserMessage((LONG,)))
    (blob,) = (tmp_path / "blobs").iterdir()
    blob.write_bytes(b"\0" * len(LONG.text.encode()))
    session.emit(UserMessage((LONG,)))
    assert blob.read_bytes() == LONG.text.encode()


def test_an_image_whose_text_is_no_base64_stays_as_it_is(tmp_path: Path) -> None:
    session = new(tmp_path / "s.jsonl")
    events = [UserMessage((Image("image/png", data, 3, 4),)) for data in ("not base64!", "QQ=", "QR==")]
    for event in events:
        session.emit(event)
    session.close()
    again = Session.load(tmp_path / "s.jsonl", Context(Chars4()), writable=False)
    assert [record.event for record in again.records[1:]] == events


@pytest.mark.parametrize(
    "name", ["../../secret", "/etc/passwd", "a" * 64, "A" * 64, "²" * 64, "", "x\0y", "a" * 63, ".."]
)
def test_a_hostile_name_of_a_blob_leads_nowhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("a secret")
    folder = tmp_path / "x" / "blobs"
    folder.mkdir(parents=True)
    path = tmp_path / "x" / "s.jsonl"
    event = UserMessage((Text("see"), Blob(name, 8, "text/plain")))
    path.write_bytes(
        encode_record(Record(0, 1, SessionStarted("s", "/w", "m"))) + encode_record(Record(1, 2, event))
    )
    again = Session.load(path, Context(Chars4()), writable=False)
    assert any(notice.startswith("s.jsonl blob") for notice in again.notices)
    sent = again.context.messages()[0].canonical
    assert b"a secret" not in sent
    assert b"missing" in sent


def test_an_image_comes_back_as_it_was(tmp_path: Path) -> None:
    data = base64.b64encode(bytes(range(256)) * 300).decode()
    image = Image("image/png", data, 30, 40)
    session = new(tmp_path / "s.jsonl")
    session.emit(UserMessage((image, replace(image, width=0, height=0))))
    session.close()
    again = Session.load(tmp_path / "s.jsonl", Context(Chars4()), writable=False)
    assert again.records == session.records


def test_bytes_are_kept_as_they_are(tmp_path: Path) -> None:
    session = new(tmp_path / "s.jsonl")
    block = session.keep_bytes(b"\xff\0")
    assert block["sha256"] == sha256(b"\xff\0").hexdigest()
    assert (tmp_path / "blobs" / block["sha256"]).read_bytes() == b"\xff\0"
    assert Session(session.started, Context(Chars4()), path=None).keep_bytes(b"\xff") is None
