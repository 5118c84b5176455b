"""Shows bytes as text to the model, within a limit in bytes; invalid bytes stay visible.

The search process imports this module too, so it imports only fast modules.
"""

from collections.abc import Callable

SAMPLE = 65_536
"""Bytes at the start of a file that are searched for NUL, which marks a binary file. This is ripgrep's first
buffer."""


def decoded(data: bytes) -> str:
    """Decode bytes as UTF-8; invalid bytes and NUL become U+FFFD."""
    return data.decode("utf-8", "replace").replace("\0", "\ufffd")


def is_text(data: bytes) -> bool:
    """Return whether the bytes equal their `decoded` text."""
    return decoded(data).encode() == data


def fitting_start(data: bytes, limit: int) -> bytes:
    """Return the longest prefix of whole characters whose text takes at most `limit` bytes."""
    return _fitting(data, limit, first_bytes)


def fitting_end(data: bytes, limit: int) -> bytes:
    """Return the longest suffix of whole characters whose text takes at most `limit` bytes."""
    return _fitting(data, limit, last_bytes)


def fitting_lines(data: bytes, limit: int) -> bytes:
    """Return the first whole lines whose text takes at most `limit` bytes, or a part of an overlong first line."""
    if len(data) * 3 <= limit:
        return data
    end, size = 0, 0
    while end < len(data):
        after = data.find(b"\n", end) + 1 or len(data)
        size += len(decoded(data[end:after]).encode()) if size <= limit else 0
        if size > limit:
            break
        end = after
    return data[:end] if end else fitting_start(data, limit)


def _fitting(data: bytes, limit: int, part: Callable[[bytes, int], bytes]) -> bytes:
    count = min(len(data), limit)
    while count > 0:
        taken = part(data, count)
        size = len(decoded(taken).encode())
        if size <= limit:
            return taken
        count = min(count - 1, count * limit // size)  # an invalid byte takes three
    return b""


def first_bytes(data: bytes, count: int) -> bytes:
    """Return at most `count` bytes from the start, without a partial character at the end."""
    taken = data[:count]
    for back in range(1, min(3, len(taken)) + 1):
        lead = taken[-back]
        if lead >= 0xC0:
            return taken[:-back] if back < (2 if lead < 0xE0 else 3 if lead < 0xF0 else 4) else taken
        if lead < 0x80:
            break
    return taken


def last_bytes(data: bytes, count: int) -> bytes:
    """Return at most `count` bytes from the end, without a partial character at the start."""
    taken = data[-count:] if count else b""
    for skip in range(min(4, len(taken))):
        if taken[skip] & 0xC0 != 0x80:
            return taken[skip:]
    return taken if len(taken) > 3 else b""  # four continuation bytes in a row are not part of a character
