"""The files that a git repository tracks, read from its index without running git."""

import os
import struct
from functools import lru_cache
from pathlib import Path

from prunecli.safety.permissions.globs import TooMany
from prunecli.util.frozen import frozen
from prunecli.util.regular import read_regular

_MAX_BYTES = 50_000_000
_ENTRY = struct.Struct(">10I20sH")
_FOLDER = 0o040000
_ID = 20
"""The bytes of a SHA-1 id, which also end the file."""


@frozen
class Tracked:
    """A tracked file: its path from the top of the work tree, its size and change time as git last saw them, and the
    id of its content."""

    path: str
    blob: str
    size: int
    changed_ns: int


def tracked(index: Path) -> tuple[Tracked, ...]:
    """Return the entries of an index file. Raises TooMany if it does not list all tracked files, or there is none."""
    try:
        status = os.stat(index)
    except OSError as error:
        raise TooMany from error
    if status.st_size > _MAX_BYTES:
        raise TooMany
    return _read(str(index), status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=4)
def _read(path: str, _inode: int, _size: int, _time: int) -> tuple[Tracked, ...]:
    try:
        return tuple(_entries(read_regular(Path(path))))
    except (OSError, struct.error, ValueError, IndexError) as error:
        raise TooMany from error


def _entries(data: bytes) -> list[Tracked]:
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError
    at, name, found = 12, b"", list[Tracked]()
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, at)
        begin = at
        at += _ENTRY.size
        if fields[11] & 0x4000:
            at += 2  # the extended flags of version 3
        if version == 4:
            cut, at = _number(data, at)
            end = data.index(b"\0", at)
            name = name[: len(name) - cut] + data[at:end]
            at = end + 1
        else:
            end = data.index(b"\0", at)
            name = data[at:end]
            at = begin + ((end - begin) // 8 + 1) * 8
        if fields[11] & 0xFFF != min(len(name), 0xFFF) or fields[6] == _FOLDER:
            raise ValueError  # ids of SHA-256, or a sparse index
        changed = fields[2] * 1_000_000_000 + fields[3]
        found.append(Tracked(os.fsdecode(name), fields[10].hex(), fields[9], changed))
    while at < len(data) - _ID:
        if data[at : at + 4] == b"link":
            raise ValueError  # another file has most entries
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return found


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a variable-length number of version 4, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
