"""Keeps missing paths closed while commands run: each needs a file or folder to mount on.

Every command locks its placeholders, and only the last one removes them: removing one would also remove the mounts of
the others. The locks travel in a socket that bubblewrap keeps open and the command does not get. So they last as long
as the sandbox, even if prunecli is killed; what it leaves behind then, the next command removes.
"""

import errno
import fcntl
import os
import socket
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from prunecli.safety.sandbox.real_folders import opened

FILES = {"commondir": b".\n", "config": b"", "config.worktree": b""}
"""Placeholders that are files, which git reads as if they were missing. All others are empty folders."""
_TRIES = 100
_PAUSE = 0.002
_MOST_SENT = 200
"""Descriptors in one message; the system allows 253."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def is_free(path: str) -> bool:
    """Return whether the path is missing or a placeholder, such as a killed command leaves."""
    try:
        with opened(os.path.dirname(path)) as folder:
            return _is_free(os.path.basename(path), folder)
    except OSError:
        return not os.path.lexists(path)


@contextmanager
def held(paths: Sequence[str], *others: int) -> Iterator[int | None]:
    """Make and lock the placeholders of a command. Yield the descriptor that it must keep open, if there are any, or
    `others` that hold locks.

    Raises OSError if one can't be made.
    """
    locks = list[int]()
    ours, theirs = socket.socketpair()
    try:
        with ours, theirs:
            for path in paths:
                try:
                    locks.append(_locked(path))
                except OSError as error:
                    raise OSError(error.errno, error.strerror, path) from error
            sent = [*others, *locks]
            for start in range(0, len(sent), _MOST_SENT):
                socket.send_fds(ours, [b"."], sent[start : start + _MOST_SENT])
            yield theirs.fileno() if sent else None
    finally:
        for lock in locks:
            os.close(lock)
        for path in paths[: len(locks)]:
            with suppress(OSError):
                _remove(path)


def _locked(path: str) -> int:
    """Make a placeholder if it is missing, and return a descriptor that holds a shared lock on it."""
    name = os.path.basename(path)
    for _ in range(_TRIES):
        with opened(os.path.dirname(path)) as folder:
            with suppress(FileExistsError):
                _make(name, folder)
            try:
                descriptor = os.open(name, _OPEN, dir_fd=folder)
            except FileNotFoundError:
                continue  # another command has just removed it
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(descriptor), os.lstat(name, dir_fd=folder)):
                    return descriptor
            except (BlockingIOError, FileNotFoundError):
                time.sleep(_PAUSE)  # another command is removing it
            except OSError:
                os.close(descriptor)
                raise
            os.close(descriptor)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _make(name: str, folder: int) -> None:
    if name not in FILES:
        os.mkdir(name, dir_fd=folder)
        return
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
    try:
        os.write(descriptor, FILES[name])
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    """Remove a placeholder that no command uses any more."""
    name = os.path.basename(path)
    with opened(os.path.dirname(path)) as folder:
        descriptor = os.open(name, _OPEN, dir_fd=folder)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if name not in FILES:
                os.rmdir(name, dir_fd=folder)  # fails for one that somebody has filled
            elif _is_free(name, folder):
                os.unlink(name, dir_fd=folder)
        finally:
            os.close(descriptor)


def _is_free(name: str, folder: int) -> bool:
    try:
        status = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    if not ((stat.S_ISREG(status.st_mode) and name in FILES) or stat.S_ISDIR(status.st_mode)):
        return False
    descriptor = os.open(name, _OPEN, dir_fd=folder)
    try:
        if stat.S_ISDIR(status.st_mode):
            return not os.listdir(descriptor)
        return os.read(descriptor, 16) == FILES[name]
    finally:
        os.close(descriptor)
