"""The session file: one writer that appends, one reader that keeps all that is good (ROBUSTNESS.md rules 1, 2).

A record is one line and one write; after a short write or a full disk the file is cut back to the record's
start. The reader splits at newline bytes only, checks each crc, and never rewrites anything.
"""

import errno
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from prunecli.errors import SessionCorrupt, SessionLocked, StorageFailed
from prunecli.model.events import Record
from prunecli.model.record_codec import decode_record, encode_record

_OPEN = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_sync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)
_WAY_OUT = "free some space or check the disk, then send again"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that can't be used: its number from 1, its bytes, and why."""

    number: int
    data: bytes
    why: str


@dataclass(slots=True)
class Loaded:
    """What a file holds: good records in order, and what was passed over."""

    records: list[Record] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)
    complete: bool = True
    """Whether the file ends with a line end."""
    lines: int = 0


def read_log(path: Path) -> Loaded:
    """Every good record of a file. Raises SessionCorrupt where not one is, OSError where it can't be read."""
    with path.open("rb") as file:
        return read_lines(path, file)


def read_lines(path: Path, lines: Iterable[bytes]) -> Loaded:
    """Every good record of a file's lines. Raises SessionCorrupt where not one is."""
    loaded = Loaded()
    for line in lines:
        take_line(loaded, line)
    require_records(path, loaded)
    return loaded


def require_records(path: Path, loaded: Loaded) -> None:
    """Raises SessionCorrupt where there is no good record."""
    if not loaded.records:
        first = loaded.bad[0] if loaded.bad else BadLine(1, b"", "the file is empty")
        raise SessionCorrupt(path, first.number, first.why)


def take_line(loaded: Loaded, line: bytes) -> None:
    """Adds the next line of a file, with its line end, to what was read so far."""
    loaded.lines = number = loaded.lines + 1
    loaded.complete = line.endswith(b"\n")
    data = line.strip(b"\r\n\0").removeprefix(b"\xef\xbb\xbf")
    if not data:
        if b"\0" in line:
            loaded.bad.append(BadLine(number, line, "a hole of zero bytes"))
        return
    try:
        record = _decoded(data)
    except ValueError as error:
        loaded.bad.append(BadLine(number, line, str(error)))
        return
    last = loaded.records[-1].seq if loaded.records else -1
    if record.seq <= last:
        loaded.bad.append(BadLine(number, line, f"seq {record.seq} after {last}"))
        return
    if record.seq != last + 1:
        missing = f"{last + 1}" if record.seq == last + 2 else f"{last + 1} to {record.seq - 1}"
        loaded.bad.append(BadLine(number, b"", f"missing before this line: records {missing}"))
    loaded.records.append(record)


def _decoded(data: bytes) -> Record:
    """The record of a line, or of a good record that stands behind a stub on the same line (LOG-05)."""
    try:
        return decode_record(data)
    except ValueError as error:
        at = data.rfind(b'{"seq":')
        if at > 0:
            with suppress(ValueError):
                return decode_record(data[at:])
        raise error from None


class LogWriter:
    """The one writer of a session file: holds an advisory lock for life.

    `sync` is os.fdatasync, or what a test puts in its place.
    """

    def __init__(
        self,
        path: Path,
        *,
        sync: Callable[[int], None] | None = None,
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        self.path = path
        self._sync = sync or _sync
        self._write = write
        self._dirty = False
        self._failed = ""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(path, _OPEN, 0o600)
        except OSError as error:
            raise StorageFailed(
                f"{path}: {error.strerror}", "make the folder writable, or start with --no-session"
            ) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = lock_holder(path)
            os.close(self._fd)
            raise SessionLocked(path, holder) from error

    def append(self, record: Record) -> None:
        """Writes one record. Raises StorageFailed; the file is then as it was before."""
        if self._failed:
            raise StorageFailed(f"{self.path}: {self._failed}", _WAY_OUT)
        line = encode_record(record)
        size = os.fstat(self._fd).st_size
        if size and not self._ends_line(size):
            line = b"\n" + line
        try:
            left = memoryview(line)
            while left:
                left = left[self._write(self._fd, bytes(left)) :]
        except OSError as error:
            self._cut_back(size)
            raise StorageFailed(f"{self.path}: {error.strerror}", _WAY_OUT) from error
        self._dirty = True

    def commit(self) -> None:
        """Makes what was appended durable. Raises StorageFailed; after that nothing is accepted any more, for
        the system may have dropped what it could not write."""
        if self._failed:
            raise StorageFailed(f"{self.path}: {self._failed}", _WAY_OUT)
        if not self._dirty:
            return
        self._dirty = False
        try:
            self._sync(self._fd)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOTSUP):
                return
            self._failed = f"could not be synced: {error.strerror}"
            raise StorageFailed(f"{self.path}: {self._failed}", _WAY_OUT) from error

    @property
    def lost(self) -> bool:
        """Whether the file was deleted or replaced while it is open (LOG-34)."""
        try:
            there, here = os.stat(self.path), os.fstat(self._fd)
        except OSError:
            return True
        return (there.st_ino, there.st_dev) != (here.st_ino, here.st_dev)

    def close(self) -> None:
        """Lets the lock go. Safe to call twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _ends_line(self, size: int) -> bool:
        return os.pread(self._fd, 1, size - 1) == b"\n"

    def _cut_back(self, size: int) -> None:
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            self._failed = f"could not be cut back after a failed write: {error.strerror}"


def quarantine(path: Path, bad: list[BadLine]) -> Path | None:
    """Copies damaged lines to `<id>.quarantine` beside the log; the log stays as it is. None where none is new."""
    lines = [line.data if line.data.endswith(b"\n") else line.data + b"\n" for line in bad if line.data]
    if not lines:
        return None
    place = path.with_suffix(".quarantine")
    try:
        known = place.read_bytes() if place.exists() else b""
        new = [line for line in lines if line not in known]
        if new:
            fd = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(fd, "ab") as file:
                file.writelines(new)
    except OSError:
        return None
    return place


def lock_holder(path: Path) -> int | None:
    """The process that holds the lock on a file, where the system tells (Linux), else None."""
    try:
        inode = os.stat(path).st_ino
        table = Path("/proc/locks").read_text("ascii")
    except OSError:
        return None
    for row in _rows(table):
        if row[-3].rsplit(":", 1)[-1] == str(inode) and row[1] == "FLOCK" and row[4].isdigit():
            return int(row[4])
    return None


def _rows(table: str) -> Iterator[list[str]]:
    for line in table.splitlines():
        row = line.split()
        if len(row) >= 8 and "->" not in row:
            yield row
