"""A disk that is full or fails, at every append and every sync: nothing runs, nothing is lost, it goes on after."""

import asyncio
import errno
from pathlib import Path

import pytest

from prunecli.model.events import ToolResult, ToolStarted
from prunecli.model.messages import plain_text
from prunecli.model.record_codec import encode_record
from prunecli.session.log import read_log
from prunecli.util.errors import StorageFailed
from tests.faults.disks import Disk, can_mount, enlarge, small_disk
from tests.faults.playing import Play, Played, played, traces

SHORT, LONG = Play(1, 0), Play(3, 5)
FULL = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG]


def uses(folder: Path, play: Play) -> dict[str, int]:
    """How many writes and syncs a session without faults takes."""
    folder.mkdir()
    disk = Disk()
    one = played(folder, play, open_log=disk.open_log)
    asyncio.run(one.go_on())
    return disk.counts


def stands_still(one: Played, folder: Path) -> None:
    """While the disk fails nothing runs and nothing is asked, however often one tries."""
    before = traces(folder), len(one.bench.provider.requests), len(one.records)
    for _ in range(3):
        with pytest.raises(StorageFailed):
            asyncio.run(go_on(one))
    assert (traces(folder), len(one.bench.provider.requests), len(one.records)) == before


async def go_on(one: Played) -> None:
    """As the runtime does: the session is mended before anything else."""
    one.session.mend()
    await one.go_on()


def finishes(one: Played, folder: Path) -> None:
    """With the disk repaired it goes on to its end, and every call that ran has its result."""
    asyncio.run(go_on(one))
    one.session.close()
    one.check_requests()
    loaded = read_log(folder / "s.jsonl")
    assert loaded.bad == []
    assert loaded.complete
    assert [record.seq for record in loaded.records] == list(range(len(one.records)))
    ran = traces(folder)
    assert len(ran) == len(set(ran)), "a call ran twice"
    results = [plain_text(r.event.content) for r in one.records if isinstance(r.event, ToolResult)]
    assert all(any(text.startswith(words) for text in results) for words in ran), "a result was lost"
    assert one.answered() == len(one.play.script)


def fails_and_recovers(folder: Path, play: Play, disk: Disk) -> int:
    """How many responses stand in the session when the disk is repaired and it went on to its end."""
    folder.mkdir()
    one = played(folder, play, open_log=disk.open_log)
    with pytest.raises(StorageFailed):
        asyncio.run(one.go_on())
    path = folder / "s.jsonl"
    assert path.read_bytes() == b"".join(encoded(one)), "a torn line, or one that nobody knows of"
    started = [r.event.tool_use_id for r in one.records if isinstance(r.event, ToolStarted)]
    assert len(traces(folder)) <= len(started)
    stands_still(one, folder)
    disk.repaired()
    finishes(one, folder)
    return one.answered()


def encoded(one: Played) -> list[bytes]:
    return [
        encode_record(
            r
            if one.session._blobs is None
            else type(r)(r.seq, r.timestamp, one.session._blobs.stored(r.event))
        )
        for r in one.records
    ]


DOSES = pytest.mark.parametrize(
    ("play", "step"), [(SHORT, 5), pytest.param(LONG, 1, marks=pytest.mark.long)], ids=["dose", "200 records"]
)


@DOSES
@pytest.mark.parametrize("torn", [0, 7])
def test_a_disk_that_is_full_at_appends(tmp_path: Path, torn: int, play: Play, step: int) -> None:
    for number in range(1, uses(tmp_path / "dry", play)["write"] + 1, step):
        disk = Disk(write=number, code=FULL[number % 3], torn=torn)
        assert fails_and_recovers(tmp_path / f"{number}", play, disk) == len(play.script)


@DOSES
def test_a_sync_that_fails(tmp_path: Path, play: Play, step: int) -> None:
    for number in range(1, uses(tmp_path / "dry", play)["sync"], step):
        disk = Disk(sync=number, code=errno.EIO)
        assert fails_and_recovers(tmp_path / f"{number}", play, disk) == len(play.script)


def test_a_failed_sync_is_not_simply_tried_again(tmp_path: Path) -> None:
    """What the system may have dropped is written again, in place, before anything is called durable."""
    disk = Disk(sync=2, code=errno.EIO)
    one = played(tmp_path, SHORT, open_log=disk.open_log)
    with pytest.raises(StorageFailed):
        asyncio.run(one.go_on())
    path = tmp_path / "s.jsonl"
    whole = path.read_bytes()
    dropped = whole[: -len(encoded(one)[-1])]
    with path.open("r+b") as file:  # as if the system had dropped the last record's bytes
        file.seek(len(dropped))
        file.write(b"\0" * (len(whole) - len(dropped)))
    disk.repaired()
    one.session.mend()
    assert path.read_bytes() == whole


@pytest.mark.skipif(not can_mount(), reason="needs a file system of its own")
@pytest.mark.parametrize("size", ["40k", "120k", "220k"])
def test_a_real_file_system_that_is_full(tmp_path: Path, size: str) -> None:
    """Log and blobs on a small file system that is enlarged afterwards."""
    with small_disk(tmp_path / "disk", size) as folder:
        one = played(folder, LONG)
        with pytest.raises(StorageFailed):
            asyncio.run(one.go_on())
        assert read_log(folder / "s.jsonl").bad == []
        for _ in range(2):
            with pytest.raises(StorageFailed):
                asyncio.run(go_on(one))
        assert not list((folder / "blobs").glob("*.part")) if (folder / "blobs").exists() else True
        enlarge(folder, "4m")
        finishes(one, folder)


def test_writes_to_the_full_device_are_met(tmp_path: Path) -> None:
    """The system's own full device."""
    with open("/dev/full", "wb", buffering=0) as device:
        disk = Disk(write=9, device=device.fileno())
        assert fails_and_recovers(tmp_path / "s", SHORT, disk) == len(SHORT.script)
