"""Unpacks zstd files piece by piece, so that a small hostile file cannot fill the memory."""

import sys
from collections.abc import Iterator
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO

from prunecli.util.errors import SessionCorrupt

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PIECE = 1 << 18
_FRAME = b"\x28\xb5\x2f\xfd"
_SKIPPED = b"\x2a\x4d\x18"
"""A frame without content: 0x50 to 0x5f and these bytes."""


def is_zstd(head: bytes) -> bool:
    """Return whether a file's first four bytes are those of a zstd frame."""
    return head[:4] == _FRAME or (head[1:4] == _SKIPPED and head[0] & 0xF0 == 0x50)


def unpacking(path: object, file: BinaryIO, limit: int) -> BufferedReader:
    """Return the unpacked contents of an open file, to be read like a file.

    Reading raises SessionCorrupt if the file is damaged or unpacks to more than `limit` bytes, and OSError.
    """
    return BufferedReader(_Stream(_bounded(path, _pieces(path, file), limit)), _PIECE)


class _Stream(RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        self._rest = self._rest or memoryview(next(filter(None, self._pieces), b""))
        target = memoryview(buffer)
        size = min(len(target), len(self._rest))
        target[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _bounded(path: object, pieces: Iterator[bytes], limit: int) -> Iterator[bytes]:
    room = limit
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            raise SessionCorrupt(path, 0, f"file is larger than {limit:,} bytes")
        yield piece


def _pieces(path: object, file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of all frames. As with gzip, what follows the last frame is ignored."""
    # Not at the top, so that only those who read such a file need the library and wait for it.
    try:
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdDecompressor, ZstdError
        else:
            from backports.zstd import ZstdDecompressor, ZstdError
    except ImportError as error:  # also a Python 3.14 that was built without zstd
        raise SessionCorrupt(path, 0, "this Python cannot unpack zstd; unpack it with `zstd -d`") from error
    data = file.read(_PIECE)
    try:
        while is_zstd(data):
            frame = ZstdDecompressor()
            yield frame.decompress(data, _PIECE)
            while not frame.eof:
                data = file.read(_PIECE) if frame.needs_input else b""
                if frame.needs_input and not data:
                    raise SessionCorrupt(path, 0, "damaged zstd file: truncated")
                yield frame.decompress(data, _PIECE)
            data = frame.unused_data
            data = data if len(data) >= len(_FRAME) else data + file.read(_PIECE)
    except ZstdError as error:
        raise SessionCorrupt(path, 0, f"damaged zstd file: {error}") from error
