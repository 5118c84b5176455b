"""Opens folders without following a link, whatever a command does to their path meanwhile."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened(path: str, *, below: str = "/", flags: int = _PASS) -> Iterator[int]:
    """Yield the descriptor of a folder, opened part by part from `below`, itself a real path.

    `flags` opens the last part. Raises OSError, also if a part is a link.
    """
    parts = [part for part in os.path.relpath(path, below).split("/") if part != "."]
    folder = os.open(below, flags if not parts else _PASS)
    try:
        for number, part in enumerate(parts, 1):
            inner = os.open(part, flags if number == len(parts) else _PASS, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def is_at(name: str, folder: int) -> bool:
    """Return whether there is something of this name in an open folder, a broken link included."""
    try:
        os.lstat(name, dir_fd=folder)
    except OSError:
        return False
    return True


def end_of(path: str) -> str:
    """Return the real path; for one through more links than the system follows, the path itself."""
    try:
        return os.path.realpath(path)
    except RecursionError:
        return path
