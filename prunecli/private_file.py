"""Reads and writes files that only the user can read or change."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from prunecli.file_systems import sync_file


def write_private(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Write a file of mode 0600 completely or not at all, replacing an earlier one.

    `sync` waits until the content is on the disk. Raises OSError and leaves nothing behind; only a crash may leave
    `NAME.PID.part` beside the file.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(part, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                sync_file(descriptor)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def read_private(path: Path, most: int, *, is_secret: bool) -> bytes:
    """Return the first `most` bytes of a file of the user that others cannot change, nor read if it `is_secret`.

    Raises OSError, whose `strerror` says what is wrong with the file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        status = os.fstat(file.fileno())
        shared = status.st_mode & (0o077 if is_secret else 0o022)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or shared:
            can = "read" if is_secret else "write to"
            raise OSError(errno.EPERM, f"must be a file that only you can {can}", str(path))
        return file.read(most)
