"""Reads the lines of a session file. After damage, one line can have gigabytes, which no reader should keep."""

from collections.abc import Iterator
from typing import BinaryIO

MAX_LINE = 64_000_000
"""More bytes than any record takes."""


def record_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines up to the first that is too long for a record."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            break
        yield line


def all_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield all lines; of a line that is too long for a record, the beginning and the last byte."""
    while line := file.readline(MAX_LINE + 1):
        last = line
        while len(last) > MAX_LINE and not last.endswith(b"\n"):
            last = file.readline(MAX_LINE + 1)
        yield line if last is line else line + last[-1:]


def next_lines(lines: Iterator[bytes], size: int) -> list[bytes]:
    """Return the next lines, of at least `size` bytes; fewer only at the end."""
    taken, taken_size = list[bytes](), 0
    while taken_size < size and (line := next(lines, b"")):
        taken.append(line)
        taken_size += len(line)
    return taken
