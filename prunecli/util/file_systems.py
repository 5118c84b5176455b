"""What some file systems lack: locks (NFS without lockd, some FUSE and SMB mounts) and syncing (some FUSE mounts)."""

import errno
import fcntl
import os
from collections.abc import Callable

Flock = Callable[[int, int], None]

_LACKING = (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def lock(descriptor: int, *, wait: bool = True, flock: Flock = fcntl.flock) -> bool:
    """Take the lock; return False if the file system has no locks. Tests may replace `flock`.

    Raises OSError, and BlockingIOError if another process holds the lock and this one does not `wait`.
    """
    try:
        flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except PermissionError as error:  # SMB's answer for a lock that another process holds
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
    except OSError as error:
        if error.errno not in _LACKING:
            raise
        return False
    return True


def sync_file(descriptor: int, sync: Callable[[int], None] = os.fsync) -> None:
    """Make a file or folder durable if its file system can. Raises OSError if the disk fails.

    Tests may replace `sync`.
    """
    try:
        sync(descriptor)
    except OSError as error:
        if error.errno not in _LACKING:
            raise
