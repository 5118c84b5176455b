"""Parses another program's file as JSON: one value, or one value per line. Names damaged lines and skips them.

Files may be hostile: size, nesting and types are checked here, before any other code uses the values.
"""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from prunecli.model.codec import strict_loads
from prunecli.model.messages import Json
from prunecli.session.importers.zstd_file import is_zstd, unpacking
from prunecli.util.errors import SessionCorrupt
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular

if TYPE_CHECKING:
    from prunecli.session.importers.remote import SessionFile

MAX_BYTES = 1 << 30
"""Maximum size of an unpacked file; larger files are rejected, since a file is held in memory as a whole."""
_GZIP = b"\x1f\x8b"
_MAGIC_BYTES = 4
_PACKED = {".gz": "gzip", ".zst": "zstd"}


@frozen
class Row:
    """The JSON object on a line; line numbers start at 1. `file` is the file's name, "" for the source itself."""

    line: int
    value: Mapping[str, Json]
    file: str = ""

    @property
    def place(self) -> str:
        return _place(self.line, self.file)


@frozen
class Rows:
    """The objects of a file's lines in order, and one message for each damaged line."""

    rows: tuple[Row, ...]
    damaged: tuple[str, ...]


def content_of(path: "SessionFile", limit: int = MAX_BYTES) -> bytes:
    """Read a file, unpacking gzip and zstd. Raises SessionCorrupt if it is damaged or too large, and OSError."""
    with open_session(path, limit) as file:
        data = file.read(limit + 1)
    if data.startswith(_GZIP):
        data = _unpacked(path, data, limit)
    if len(data) > limit:
        raise SessionCorrupt(path, 0, f"file is larger than {limit:,} bytes")
    return data


@contextmanager
def open_session(path: "SessionFile", limit: int = MAX_BYTES) -> Iterator[BinaryIO]:
    """Open a file to read it from its beginning, unpacking zstd meanwhile.

    Raises OSError, and SessionCorrupt if the file is not packed as its name says; reading raises them if it is
    damaged or too large.
    """
    with open_regular(path) if isinstance(path, Path) else path.open() as file:
        head = file.read(_MAGIC_BYTES)
        file.seek(0)
        if path.suffix in _PACKED and not (_is_plain(head) or head.startswith(_GZIP) or is_zstd(head)):
            raise SessionCorrupt(path, 0, f"not a {_PACKED[path.suffix]} file")
        yield unpacking(path, file, limit) if is_zstd(head) else file


def _is_plain(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"", b"{", b"[")


def _unpacked(path: "SessionFile", data: bytes, limit: int) -> bytes:
    """Unpack all members of a gzip file, up to one byte over the limit."""
    pieces: list[bytes] = []
    room = limit + 1
    try:
        while data.startswith(_GZIP) and room > 0:
            member = zlib.decompressobj(wbits=31)
            pieces.append(member.decompress(data, room))
            room -= len(pieces[-1])
            if not member.eof and room > 0:
                raise SessionCorrupt(path, 0, "damaged gzip file: truncated")
            data = member.unused_data
    except zlib.error as error:
        raise SessionCorrupt(path, 0, f"damaged gzip file: {error}") from error
    return b"".join(pieces)


def whole(data: bytes) -> Json:
    """Return the file as one JSON value, or None if it is not one. Raises ValueError if it is nested too deeply."""
    start = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start not in (b"{", b"["):
        return None
    try:
        return strict_loads(data)
    except UnicodeDecodeError:
        return None
    except ValueError as error:
        if "nested" in str(error) and b"\n" not in data.strip():
            raise
        return None


def rows_of(data: bytes, file: str = "") -> Rows:
    """Return the JSON objects of a file's lines. `file` is its name, if it is not the source itself."""
    rows: list[Row] = []
    damaged: list[str] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.strip(b" \t\r\0")
        if not text:
            if b"\0" in line:
                damaged.append(f"{_place(number, file)}: zero bytes")
            continue
        try:
            value = strict_loads(text)
        except ValueError as error:
            damaged.append(f"{_place(number, file)}: {_why(error)}")
            continue
        if isinstance(value, dict):
            rows.append(Row(number, value, file))
        else:
            damaged.append(f"{_place(number, file)}: not an object")
    return Rows(tuple(rows), tuple(damaged))


def _place(line: int, file: str) -> str:
    return f"{file} line {line}".strip()


def _why(error: ValueError) -> str:
    match error:
        case UnicodeDecodeError():
            return "not UTF-8"
        case JSONDecodeError(msg=message, colno=column):
            return f"{message.removesuffix(' at')} at column {column}"
        case _:
            return str(error)
