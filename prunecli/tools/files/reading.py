"""Opens a file for reading and returns one page, without loading more."""

import errno
import hashlib
import io
import os
import stat
import threading

from prunecli.model.codec import well_formed
from prunecli.tools.files.atomic_write import MAX_BYTES
from prunecli.tools.files.workspace import refusal
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

BLOCK = 1024 * 1024
MAX_SKIPPED = 256 * 1024 * 1024
"""Maximum bytes to search for a page's first line: a quarter of a second, at a gigabyte per second."""

_KINDS = (
    (b"\x7fELF", "an ELF program"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xca\xfe\xba\xbe", "Java bytecode"),
    (b"\0asm", "WebAssembly"),
)
_NOT_REGULAR = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class IsFolder(ToolError):
    """Raised for a folder instead of a file."""


def open_file(path: str) -> io.FileIO:
    """Open a regular file for reading, without blocking. The caller closes it.

    Raises IsFolder for a folder, and ToolError for anything else that is not a regular file.
    """
    name = well_formed(path)
    try:
        _check_regular(os.stat(path), name)
        if os.path.realpath(path) == "/proc/kmsg":
            raise ToolError(f"{name} can't be read without emptying it.")
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise refusal(error, path) from error
    file = io.FileIO(descriptor)
    try:
        _check_regular(os.fstat(descriptor), name)
    except ToolError:
        file.close()
        raise
    return file


def _check_regular(state: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(state.st_mode):
        raise IsFolder(f"{name} is a folder.")
    if not stat.S_ISREG(state.st_mode):
        kind = next((kind for test, kind in _NOT_REGULAR if test(state.st_mode)), "no file")
        raise ToolError(f"{name} is {kind}; only regular files can be read.")


def kind_of(sample: bytes) -> str:
    """Return the kind of a binary file, by its first bytes."""
    return next((name for mark, name in _KINDS if sample.startswith(mark)), "binary data")


@frozen
class Page:
    """Some lines of a file as bytes, and the number of the first line. `total` lines and the digest of the whole file
    are None if it is too large to read to its end."""

    data: bytes
    first: int
    total: int | None
    digest: bytes | None


def page_of(
    file: io.RawIOBase | io.BufferedIOBase,
    first: int,
    lines: int,
    max_bytes: int,
    stop: threading.Event,
    *,
    whole: bool,
) -> Page:
    """Return the `lines` lines from line `first` on (from 1), or fewer once they hold more than `max_bytes`.

    With `whole`, reads a file that is not too large to its end, for the number of lines and the digest.

    Raises ToolError if the file ends before `first` or `first` is too far into a large file, and OSError.
    """
    digest, seen, newlines, last = hashlib.sha256(), 0, 0, b"\n"
    taken, begun, done = bytearray(), first == 1, False
    while block := _block(file):
        if stop.is_set():
            raise ToolError("interrupted")
        seen += len(block)
        count, last = block.count(b"\n"), block[-1:]
        rest = block
        if not begun and newlines + count >= first - 1:
            begun, rest = True, block[_after_newline(block, first - 1 - newlines) :]
        if begun and not done:
            taken += rest
            done = len(taken) > max_bytes or taken.count(b"\n") >= lines
        newlines += count
        whole = whole and seen <= MAX_BYTES
        if whole:
            digest.update(block)
        elif done:
            return Page(_lines_of(taken, lines), first, None, None)
        if not begun and seen > MAX_SKIPPED:
            raise ToolError(
                f"Line {first} is more than {MAX_SKIPPED >> 20} MB into the file; use bash: "
                f"sed -n '{first},{first + lines - 1}p'."
            )
    total = newlines + (last != b"\n")
    if first > max(total, 1):
        raise ToolError(f"offset {first} is after the end: the file has {total} lines.")
    return Page(_lines_of(taken, lines), first, total, digest.digest() if whole else None)


def _block(file: io.RawIOBase | io.BufferedIOBase) -> bytes:
    block = file.read(BLOCK)
    if block is None:
        raise OSError(errno.EAGAIN, "no data available")
    return block


def _lines_of(taken: bytearray, lines: int) -> bytes:
    end = _after_newline(taken, lines) if taken.count(b"\n") >= lines else len(taken)
    return bytes(taken[:end])


def _after_newline(data: bytes | bytearray, count: int) -> int:
    """Return the offset after the `count`-th newline."""
    at = 0
    for _ in range(count):
        at = data.find(b"\n", at) + 1
    return at
