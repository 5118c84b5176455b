"""Opens files from untrusted folders: only regular files, and without blocking."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def open_regular(path: Path | str, *, follow: bool = True) -> BinaryIO:
    """Open a file to read its bytes. With `follow` off, a link at its end is an error too.

    Raises OSError for anything else, such as a folder, FIFO, socket or device. Opening a FIFO would otherwise wait
    for a writer.
    """
    try:
        descriptor = os.open(path, _FLAGS if follow else _FLAGS | os.O_NOFOLLOW)
    except OSError as error:
        raise _irregular(path) if error.errno == errno.ENXIO else error from None  # a socket
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _irregular(path)
        return open(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def _irregular(path: Path | str) -> OSError:
    return OSError(errno.EINVAL, "not a regular file", str(path))


def read_regular(path: Path | str, *, follow: bool = True) -> bytes:
    """Read all bytes of a file; see `open_regular`."""
    with open_regular(path, follow=follow) as file:
        return file.read()
