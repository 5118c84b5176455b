"""Reads and writes files, and makes folders, that only the user can read or change."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.util.file_systems import sync_file
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = lazy("tempfile")

NO_HOME = Path("/nonexistent")
"""The home of users without one, by Debian's convention. Nothing exists there and nothing is written."""


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


def make_private(folder: Path) -> list[Path]:
    """Create a folder and its missing parents, private to the user regardless of the umask.

    Returns the folders that got a new name, topmost first. Raises OSError, also for /nonexistent, the home of users
    without one, which root could make.
    """
    if os.path.isdir(folder):
        return []
    if folder == NO_HOME:
        raise OSError(errno.ENOENT, "this user has no home folder; set HOME", str(folder))
    changed = make_private(folder.parent) if folder.parent != folder else []
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, "Not a directory", str(folder)) from None
    return [*changed, folder.parent]


def make_temporary(prefix: str) -> str:
    """Make a private folder for temporary files and return its real path. Raises OSError.

    Unlike tempfile, never makes it in the working directory, which is the user's workspace.
    """

    named = [os.path.abspath(os.environ[name]) for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
    try:
        within = tempfile.gettempdir()
    except FileNotFoundError:
        within = ""
    if not within or (within == os.getcwd() and within not in (*named, "/tmp", "/var/tmp", "/usr/tmp")):  # noqa: S108
        raise OSError(errno.ENOENT, "no temporary folder is writable; set TMPDIR")
    return os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=within))
