"""Standard input, output and error: always open, and failing in one way.

A shell can start a program with any of them closed (`>&-`) or full (`> /dev/full`), and a reader can go away
(`| head -1`). Python then has None for a stream, raises an OSError that looks like that of any file, or fails once
more while it exits.
"""

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from prunecli.errors import OutputFailed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Output(io.FileIO):
    """A standard stream's file. The first failure is raised as OutputFailed; what comes after it is dropped, so that
    the buffer that could not be written is no second failure at exit."""

    failed = False

    def write(self, data: "ReadableBuffer", /) -> int:
        """Writes the bytes, or drops them once that has failed."""
        if not self.failed:
            try:
                return super().write(data)
            except OSError as error:
                self.failed = True
                self.fail(error)
        return memoryview(data).nbytes

    def fail(self, error: OSError) -> None:
        """Tells of the first failure."""
        closed = isinstance(error, BrokenPipeError)
        raise OutputFailed(error.strerror or str(error), closed=closed) from error


class _Errors(_Output):
    """Standard error: where it can't be written there is nobody to tell."""

    def fail(self, error: OSError) -> None:
        """Tells nobody."""


def hold_standard_streams() -> None:
    """Opens closed streams, and replaces standard output and error by ones that fail as above.

    Must run before any other file is opened: it would get the number of the closed stream.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)  # it takes the lowest free number
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = _guarded(_Output(1, "w", closefd=False), sys.stdout)
    sys.stderr = _guarded(_Errors(2, "w", closefd=False), sys.stderr)


def _guarded(file: io.FileIO, before: object) -> TextIO:
    """The stream as Python made it, around another file; what its encoding lacks is written as an escape."""
    known = before if isinstance(before, io.TextIOWrapper) else None
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=known.encoding if known else "utf-8",
        errors="backslashreplace",
        line_buffering=known is not None and known.line_buffering,
        write_through=known is not None and known.write_through,
    )
