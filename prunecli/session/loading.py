"""Reads the end of a session file, which the screen shows while a long session loads."""

from pathlib import Path

from prunecli.model.events import AssistantMessage, Record, Rewound, UserMessage
from prunecli.session.blobs import Blobs
from prunecli.session.log import Loaded, take_line
from prunecli.util.regular import open_regular

LONG_BYTES = 512 * 1024
"""A file up to this size is read at once, which takes about 30 ms."""
TAIL_BYTES = 192 * 1024
LEAST_RECORDS = 80
"""Records that fill a tall screen: if a quarter of `TAIL_BYTES` has as many, the rest is not read."""
MOST_TAIL_BYTES = 8 * 1024 * 1024
"""Maximum bytes to read if the file ends with a huge record."""


def tail(path: Path, most_bytes: int = TAIL_BYTES) -> list[Record]:
    """Return the last records of a file that belong to the current branch, from the start of a message on.

    They equal what a full read gives for these lines. Damaged lines are skipped. After a rewind, only records since
    the rewind are certain. Raises OSError.
    """
    records = _last_records(path, most_bytes // 4 + 1)
    if len(records) < LEAST_RECORDS:
        records = _last_records(path, most_bytes)
    return _from_message(records, Blobs(path.parent / "blobs"))


def last_record(path: Path) -> Record | None:
    """Return the last good record of a file. Raises OSError."""
    records = _last_records(path, TAIL_BYTES)
    return records[-1] if records else None


def _last_records(path: Path, most_bytes: int) -> list[Record]:
    """Return the good records in the last `most_bytes` bytes, or in more if there are none."""
    size = path.stat().st_size
    while True:
        start = max(0, size - most_bytes)
        with open_regular(path) as file:
            file.seek(start)
            lines = file.read(size - start).split(b"\n")
        loaded = Loaded(is_end=start > 0)
        for line in lines[1 if start else 0 :]:
            if line:
                take_line(loaded, line)
        if loaded.records or most_bytes >= min(size, MOST_TAIL_BYTES):
            return loaded.records
        most_bytes *= 4


def _from_message(records: list[Record], blobs: Blobs) -> list[Record]:
    for at in range(len(records) - 1, -1, -1):
        if isinstance(records[at].event, Rewound):
            records = records[at + 1 :]
            break
    for at, record in enumerate(records):
        if isinstance(record.event, UserMessage | AssistantMessage):
            return [whole(one, blobs) for one in records[at:]]
    return []


def whole(record: Record, blobs: Blobs) -> Record:
    event, _ = blobs.resolved(record.event)
    return record if event is record.event else Record(record.seq, record.timestamp, event)
