"""Standard input, output and error that are always open and all fail in the same way.

A shell can start a program with a closed stream (`>&-`) or a full one (`> /dev/full`), and a reader can exit early
(`| head -1`). Python then sets a stream to None, raises an OSError like that of any file, or fails again at exit.
"""

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from prunecli.util.errors import OutputFailed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Output(io.FileIO):
    """The file of a standard stream. Raises OutputFailed once, then drops all output.

    The buffer that could not be written would otherwise fail again at exit.
    """

    failed = False

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write the bytes; drop them after a failure."""
        if not self.failed:
            try:
                return super().write(data)
            except OSError as error:
                self.failed = True
                self.fail(error)
        return memoryview(data).nbytes

    def fail(self, error: OSError) -> None:
        closed = isinstance(error, BrokenPipeError)
        raise OutputFailed(error.strerror or str(error), closed=closed) from error


class _Errors(_Output):
    """Standard error. Failures are ignored, because they cannot be reported anywhere."""

    def fail(self, error: OSError) -> None:
        """Do nothing."""


def hold_standard_streams() -> None:
    """Open closed streams, and make standard output and error raise OutputFailed on failure.

    Must run before any other file is opened, which would otherwise get the number of a closed stream.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)  # open takes the lowest free number
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = _guarded(_Output(1, "w", closefd=False), sys.stdout)
    sys.stderr = _guarded(_Errors(2, "w", closefd=False), sys.stderr)


def _guarded(file: io.FileIO, before: object) -> TextIO:
    """Return Python's stream around another file. Characters that its encoding lacks are written as escapes."""
    known = before if isinstance(before, io.TextIOWrapper) else None
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=known.encoding if known else "utf-8",
        errors="backslashreplace",
        line_buffering=known is not None and known.line_buffering,
        write_through=known is not None and known.write_through,
    )
