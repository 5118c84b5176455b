"""The single writer of a session file: appends records, makes them durable and reports failures at once.

A record is one line and one write. After a short write or a full disk, the file is cut back to the record's start.
Acknowledged bytes are never changed; they may be rewritten only with the same bytes in the same place.

Some file systems have no locks, or locks that other machines do not see. So the size is compared before and after
each append: once another program has added to the file, nothing more is written to it, and the session continues in a
new file. Without a lock, nothing is ever cut off either, since the bytes at the end may be someone else's.
"""

import errno
import fcntl
import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from prunecli.model.events import Record
from prunecli.model.record_codec import encode_record
from prunecli.util.errors import SessionError, SessionLocked, StorageFailed
from prunecli.util.file_systems import Flock, lock, sync_file
from prunecli.util.private_file import make_private

_LOOK = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_OPEN = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_sync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)
WAY_OUT = "free some space or check the disk"
NO_LINK = "replace the link with the file, or use --fork to continue a copy"
NO_SESSION = "make the folder writable, or start with --no-session"
LOCK_TABLE = Path("/proc/locks")
SHARED = "was written to by another program while it was open"


def sync_folder(folder: Path, sync: Callable[[int], None] = os.fsync) -> None:
    """Make new names in a folder durable if the system supports it: syncing a file does not sync its name. May block.

    Raises OSError if the disk fails.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return  # write-only, or deleted along with the log, which reports that
    try:
        sync_file(descriptor, sync)
    finally:
        os.close(descriptor)


class LogLost(StorageFailed):
    """The file was deleted, replaced, cut or written to by another program while open.

    `why` gives the reason.
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} {why}", WAY_OUT)
        self.why = why


class LogWriter:
    """The single writer of a session file; holds an advisory lock until closed, if the file system `has_locks`.

    Tests may replace `sync` (os.fdatasync), `sync_names` (the same for a folder), `write` (os.write) and `flock`.
    `commit` may run in a thread of its own. After a failed sync, the system may have dropped the data and still
    report success for the next sync. So commits fail until `mend` has rewritten, in place, everything appended since
    the last good sync.
    """

    def __init__(
        self,
        path: Path,
        *,
        sync: Callable[[int], None] | None = None,
        sync_names: Callable[[Path], None] = sync_folder,
        write: Callable[[int, bytes], int] = os.write,
        flock: Flock = fcntl.flock,
    ) -> None:
        self.path = path
        self._sync = sync or _sync
        self._sync_names = sync_names
        self._write = write
        self._failed = ""
        self._torn: int | None = None
        self._wanted = 0
        self._unsynced: list[tuple[int, bytes]] = []
        self._writing, self._syncing = threading.Lock(), threading.Lock()
        self._fd, self._changed, self.has_locks = _opened(path, flock)
        self._identity = _identity(os.fstat(self._fd))
        self._end = os.fstat(self._fd).st_size
        self._ended = (
            0  # the file is known to end with a whole line at this size, so appends need not read it
        )
        self._changed.append(
            path.parent
        )  # for an old file too: its creator may have died before the first commit

    def append(self, record: Record) -> None:
        """Write one record. Raises StorageFailed and leaves the file as it was.

        Raises LogLost, a StorageFailed, if the file is no longer there.
        """
        line = encode_record(record)
        with self._writing:
            size = self._size()
            if self._failed:
                raise StorageFailed(f"{self.path}: {self._failed}", WAY_OUT)
            if size != self._ended and not self._ends_line(size):
                line = b"\n" + line
            try:
                self._put(line)
            except OSError as error:
                self._wanted = len(line)
                self._cut_back(size)
                raise StorageFailed(f"{self.path}: {error.strerror}", WAY_OUT) from error
            self._end = self._ended = size + len(line)
            self._wanted = 0
            if os.fstat(self._fd).st_size != self._end:
                raise LogLost(self.path, SHARED)
            self._unsynced.append((size, line))

    def commit(self) -> None:
        """Make appended records durable. Raises StorageFailed, after which nothing is accepted until `mend`."""
        with self._syncing:
            if self._failed:
                raise StorageFailed(f"{self.path}: {self._failed}", WAY_OUT)
            if self._unsynced:
                self._make_durable()

    def move_to(self, path: Path) -> None:
        """Rename the file within its folder, durably. Raises StorageFailed.

        A file written under a temporary name and then moved is complete or absent.
        """
        try:
            os.rename(self.path, path)
            self.path = path
            self._sync_names(path.parent)
        except OSError as error:
            raise StorageFailed(f"{path}: {error.strerror}", WAY_OUT) from error

    def mend(self) -> None:
        """After a failure, check whether the file can be written again, and rewrite data that may not be on disk.

        Does nothing if nothing failed. Raises StorageFailed and LogLost.
        """
        if not self.stuck:
            return
        with self._syncing, self._writing:
            self._size()
            try:
                if self._torn is not None:
                    os.ftruncate(self._fd, self._torn)
                    self._end, self._torn = self._torn, None
                if self._failed:
                    self._write_again()
                if self._wanted:
                    self._try_room()
            except OSError as error:
                raise StorageFailed(f"{self.path}: {error.strerror}", WAY_OUT) from error
            self._failed = ""
            if self._unsynced:
                self._make_durable()

    @property
    def stuck(self) -> bool:
        return bool(self._failed or self._wanted)

    @property
    def lost(self) -> bool:
        """Whether the file was deleted, replaced or cut while open."""
        try:
            self._size()
        except StorageFailed:
            return True
        return False

    def close(self) -> None:
        """Release the lock. Safe to call twice."""
        if self._fd >= 0:
            with suppress(OSError):
                # Closing alone does not release the lock: a child being started has a copy of the descriptor for a
                # moment.
                fcntl.flock(self._fd, fcntl.LOCK_UN)
            os.close(self._fd)
            self._fd = -1

    def _size(self) -> int:
        """Return the file's size. Raises LogLost if it is not the opened file, or not as this writer left it."""
        if not self.has_locks:
            with suppress(OSError):  # opening a file makes NFS ask the server for its size
                os.close(os.open(self.path, _LOOK))
        try:
            there, size = os.stat(self.path, follow_symlinks=False), os.fstat(self._fd).st_size
        except FileNotFoundError:
            raise LogLost(self.path, "was deleted while it was open") from None
        except OSError as error:
            raise StorageFailed(f"{self.path}: {error.strerror}", WAY_OUT) from error
        if _identity(there) != self._identity:
            other = "a symbolic link" if stat.S_ISLNK(there.st_mode) else "another file"
            raise LogLost(self.path, f"was replaced by {other} while it was open")
        if size < self._end:
            raise LogLost(self.path, "was truncated by another program while it was open")
        if size > self._end:
            raise LogLost(self.path, SHARED)
        return size

    def _put(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            written = self._write(self._fd, bytes(left))
            self._end += written
            left = left[written:]

    def _ends_line(self, size: int) -> bool:
        return os.pread(self._fd, 1, size - 1) == b"\n"

    def _cut_back(self, size: int) -> None:
        if not self.has_locks:
            return  # the next record begins on a line of its own
        try:
            os.ftruncate(self._fd, size)
            self._end = size
        except OSError as error:
            self._torn = size
            self._failed = f"cannot undo a failed write: {error.strerror}"

    def _make_durable(self) -> None:
        lines = len(self._unsynced)
        try:
            sync_file(self._fd, self._sync)
            while self._changed:
                self._sync_names(self._changed[0])
                del self._changed[0]
        except OSError as error:
            self._failed = f"cannot sync: {error.strerror}"
            raise StorageFailed(f"{self.path}: {self._failed}", WAY_OUT) from error
        del self._unsynced[:lines]

    def _write_again(self) -> None:
        """Rewrite the same bytes in the same place, so that no part of the file is ever missing."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if _identity(os.fstat(descriptor)) != self._identity:
                raise OSError(errno.ESTALE, "the path now belongs to another file")
            for at, line in self._unsynced:
                data = memoryview(line)
                while data:
                    written = os.pwrite(descriptor, data, at)
                    data, at = data[written:], at + written
        finally:
            os.close(descriptor)

    def _try_room(self) -> None:
        """Check whether a record fits now: append empty lines, which have no meaning, and cut them off again."""
        size = os.fstat(self._fd).st_size
        try:
            self._put(b"\n" * self._wanted)
        finally:
            if self.has_locks:
                os.ftruncate(self._fd, size)
                self._end = size
        self._wanted = 0


def _opened(path: Path, flock: Flock) -> tuple[int, list[Path], bool]:
    """Open or create the file and lock it. Returns it, the folders that got new names, and whether it is locked.

    Raises StorageFailed, SessionLocked.
    """
    changed: list[Path] = []
    while True:
        try:
            changed += make_private(path.parent)
            descriptor = os.open(path, _OPEN, 0o600)
        except OSError as error:
            if os.path.islink(path):
                raise StorageFailed(
                    f"{path} is a symbolic link; prunecli does not write through links", NO_LINK
                ) from error
            raise StorageFailed(f"{path}: {error.strerror}", NO_SESSION) from error
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise StorageFailed(f"{path} is not a regular file", NO_SESSION)
            has_locks = _lock(path, descriptor, flock)
            if state.st_mode & 0o077 and state.st_uid == os.geteuid():
                os.fchmod(descriptor, 0o600)
            if _is_at(path, state):
                return descriptor, changed, has_locks
        except OSError as error:
            os.close(descriptor)
            raise StorageFailed(f"{path}: {error.strerror}", NO_SESSION) from error
        except SessionError:
            os.close(descriptor)
            raise
        os.close(
            descriptor
        )  # deleted or replaced before it was locked, so the name now belongs to another file


def _lock(path: Path, descriptor: int, flock: Flock) -> bool:
    """Take the lock; return False on a file system without locks."""
    try:
        return lock(descriptor, wait=False, flock=flock)
    except BlockingIOError as error:
        raise SessionLocked(path, lock_holder(path)) from error


def _is_at(path: Path, state: os.stat_result) -> bool:
    try:
        return _identity(os.stat(path, follow_symlinks=False)) == _identity(state)
    except FileNotFoundError:
        return False


def _identity(state: os.stat_result) -> tuple[int, int]:
    return state.st_dev, state.st_ino


def lock_holder(path: Path, table: Path = LOCK_TABLE) -> int | None:
    """Return the process that took the lock on a file; None if it has ended, and outside Linux."""
    try:
        inode = os.stat(path).st_ino
        rows = [line.split() for line in table.read_text("ascii").splitlines()]
    except OSError:
        return None
    for row in rows:  # "1: FLOCK ADVISORY WRITE 4711 08:01:1234 0 EOF"; a row with "->" waits
        if row[1:2] == ["FLOCK"] and len(row) == 8 and row[5].rpartition(":")[2] == str(inode):
            return int(row[4]) if row[4].isdigit() and os.path.exists(f"/proc/{row[4]}") else None
    return None
