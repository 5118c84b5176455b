"""What is at a path, read by descriptor and never through a link: its kind, mode, size and content as a digest."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from prunecli.util.frozen import frozen

What = Literal["file", "folder", "link", "pipe", "socket"]
Identity = tuple[int, int, int]
"""Device, inode and time of the last change, which no command can set back."""
KINDS: dict[int, What] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}
CHUNK = 1 << 20
_ZEROS = bytes(CHUNK)
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FOLDER = READ | os.O_DIRECTORY
_QUIETLY = getattr(os, "O_NOATIME", 0)


@frozen
class State:
    """What is at a path. `size` is in bytes, `digest` of a file's content or a link's target (b"" if not needed).

    `names`: how many names the file has. `times` are those of its last reading and writing, in nanoseconds.
    """

    what: What
    mode: int
    size: int
    digest: bytes
    identity: Identity
    names: int = 1
    times: tuple[int, int] = (0, 0)

    def equals(self, other: "State") -> bool:
        """Return whether both are the same, apart from their modes."""
        return (self.what, self.size, self.digest) == (other.what, other.size, other.digest)


def identity_of(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino, status.st_ctime_ns


def state_of(name: str, folder: int, status: os.stat_result, descriptor: int | None = None) -> State:
    """Return the state of a name in an open folder; the digest of a file only if it is open as `descriptor`.

    Raises OSError, and ValueError for a device.
    """
    what = KINDS.get(stat.S_IFMT(status.st_mode))
    if what is None:
        raise ValueError("is a device")
    found, is_file = b"", what == "file"
    if what == "link":
        found = os.fsencode(os.readlink(name, dir_fd=folder))
    elif is_file and descriptor is not None:
        found = digest_of(descriptor)
    return State(
        what,
        stat.S_IMODE(status.st_mode),
        status.st_size if is_file else 0,
        found,
        identity_of(status),
        status.st_nlink if is_file else 1,
        (status.st_atime_ns, status.st_mtime_ns),
    )


@contextmanager
def readable(name: str, folder: int, status: os.stat_result) -> Iterator[int]:
    """Yield the descriptor of a file or folder that this user owns, even if its mode forbids reading.

    Its access time stays, since that tells a file which was written from one that was replaced.
    """
    flags = FOLDER if stat.S_ISDIR(status.st_mode) else READ
    try:
        descriptor = os.open(name, flags | _QUIETLY, dir_fd=folder)
    except PermissionError:
        descriptor = _forced(name, folder, flags, stat.S_IMODE(status.st_mode))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _forced(name: str, folder: int, flags: int, mode: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)  # somebody else's
    except PermissionError:
        os.chmod(name, mode | stat.S_IRWXU, dir_fd=folder)
        try:
            return os.open(name, flags, dir_fd=folder)
        finally:
            os.chmod(name, mode, dir_fd=folder)


def digest_of(descriptor: int) -> bytes:
    """Return the digest of a file's content: its size and all that is not zero, so that holes cost nothing."""
    found = hashlib.sha256(b"%d" % os.fstat(descriptor).st_size)
    for at, data in content_of(descriptor):
        found.update(b"%d:" % at)
        found.update(data)
    return found.digest()


def content_of(descriptor: int) -> Iterator[tuple[int, bytes]]:
    """Yield the content of a file in aligned chunks with their places, without those that are zero."""
    size, at = os.fstat(descriptor).st_size, 0
    while at < size:
        try:
            at = max(at, os.lseek(descriptor, at, os.SEEK_DATA) // CHUNK * CHUNK)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # only a hole is left
            raise
        data = os.pread(descriptor, CHUNK, at)
        if not data:
            return
        if data != _ZEROS[: len(data)]:
            yield at, data
        at += CHUNK
