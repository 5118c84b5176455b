"""Replaces a file's content atomically, keeping its mode, owner, attributes and links.

A new file replaces the old one. If that would lose a link, the owner or an attribute, the file is written in place
instead, with a journal beside it until the write is complete.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from prunecli.tools.files.read_journal import leftover_name, recover, write_all, written_in_place
from prunecli.tools.files.workspace import Place, is_inside, opened_place, real_path, refusal
from prunecli.util.errors import ToolError
from prunecli.util.file_systems import sync_file
from prunecli.util.frozen import frozen

MAX_BYTES = 64 * 1024 * 1024
"""Maximum bytes of a file to edit or compare, which is held in memory."""
LOCK_PATIENCE = 10.0
_RETRY = 0.005
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen
class Current:
    """A file locked by this process: its descriptor, its state and its content."""

    descriptor: int
    state: os.stat_result
    data: bytes
    held: contextlib.ExitStack

    @property
    def identity(self) -> tuple[int, int]:
        return self.state.st_dev, self.state.st_ino


def digest_of(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


@contextlib.contextmanager
def locked(place: Place, stop: threading.Event) -> Iterator[Current]:
    """Lock the file at a place against other prunecli processes until the end of the block.

    Removes leftovers of an interrupted edit first. Raises ToolError for a file that cannot be changed: missing, not
    regular, read-only or too large.
    """
    with contextlib.ExitStack() as held:
        descriptor = _open_locked(place, stop)
        held.callback(os.close, descriptor)
        try:
            recover(place)
            state = os.fstat(descriptor)
            if state.st_size > MAX_BYTES:
                raise ToolError(f"{place.path} is too large to edit ({state.st_size:,} bytes); use bash.")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read()
        except OSError as error:
            raise refusal(error, place.path) from error
        yield Current(descriptor, state, data, held)


def clear_leftovers(given: str, cwd: Path, workspace: Path, added: tuple[Path, ...] = ()) -> None:
    """Clean up after an edit or write without a result, when a session is resumed after a crash.

    The next edit of the same file would do the same. Raises ToolError if that fails. Nothing can be left outside the
    workspace, where a log that somebody else wrote may point.
    """
    real = real_path(given, cwd)
    if not any(is_inside(real, folder) for folder in (workspace, *added)):
        raise ToolError(
            f"{given} is outside of the workspace, so what an unfinished edit may have left there stays"
        )
    with opened_place(given, cwd, workspace, added) as place:
        if place.stat() is not None:
            with locked(place, threading.Event()):
                return
        try:
            recover(place)
        except OSError as error:
            raise refusal(error, place.path) from error


def _open_locked(place: Place, stop: threading.Event) -> int:
    """Open the file that currently has the name, and lock it. The caller closes the descriptor."""
    for _ in range(int(LOCK_PATIENCE / _RETRY)):
        _check_editable(place)
        try:
            descriptor = os.open(place.name, _OLD, dir_fd=place.folder)
        except OSError as error:
            raise refusal(error, place.path) from error
        held = _try_lock(descriptor)
        if held and _has_name(descriptor, place.name, place.folder):
            return descriptor
        os.close(descriptor)
        if stop.wait(0.0 if held else _RETRY):
            break
    raise ToolError(f"{place.path} is locked by another program.")


def _check_editable(place: Place) -> None:
    state = place.stat()
    if state is None:
        raise refusal(FileNotFoundError(errno.ENOENT, "gone"), place.path)
    if stat.S_ISDIR(state.st_mode):
        raise ToolError(f"{place.path} is a folder.")
    if not stat.S_ISREG(state.st_mode):
        raise ToolError(f"{place.path} is not a regular file.")
    writable = state.st_mode & 0o222 and os.access(place.name, os.W_OK, dir_fd=place.folder)
    if not writable:
        raise ToolError(f"{place.path} is read-only.")


def replace_content(place: Place, current: Current, data: bytes, stop: threading.Event) -> tuple[int, int]:
    """Replace the content of a locked file, keeping mode, owner, attributes and links. Returns its (device, inode).

    Raises ToolError, with the file unchanged, if that fails or another program has changed the file.
    """
    try:
        if current.state.st_nlink == 1 and (made := _replaced(place, current, data, stop)):
            return made
        _check_unchanged(place, current)
        written_in_place(place, current.data, data, stat.S_IMODE(current.state.st_mode))
    except OSError as error:
        raise refusal(error, place.path) from error
    return current.identity


def create_file(place: Place, data: bytes, stop: threading.Event) -> tuple[int, int]:
    """Create a file that must not exist yet. Returns its (device, inode).

    Raises ToolError, leaving nothing behind, if the file exists by now or cannot be created.
    """
    try:
        descriptor = _temporary(place, 0o666, stop)
        try:
            write_all(descriptor, data)
            sync_file(descriptor)
            state = os.fstat(descriptor)
            _link(place)
        finally:
            os.close(descriptor)
            _forget(place)
        _sync_folder(place)
    except FileExistsError as error:
        raise ToolError(f"{place.path} was created by another program just now; read it first.") from error
    except OSError as error:
        raise refusal(error, place.path) from error
    return state.st_dev, state.st_ino


def _temporary(place: Place, mode: int, stop: threading.Event) -> int:
    """Return a new, empty, locked file beside the place. Removes one left by a dead process. Raises OSError."""
    name = leftover_name(place, "tmp")
    for _ in range(int(LOCK_PATIENCE / _RETRY)):
        created = True
        try:
            descriptor = os.open(name, _NEW, mode, dir_fd=place.folder)
        except FileExistsError:
            created = False
            try:
                descriptor = os.open(name, _OLD, dir_fd=place.folder)
            except FileNotFoundError:
                continue
        held = _try_lock(descriptor)
        if held and _has_name(descriptor, name, place.folder):
            if created:
                return descriptor
            os.unlink(name, dir_fd=place.folder)
        os.close(descriptor)
        if stop.wait(0.0 if held else _RETRY):
            break
    raise ToolError(f"{place.path} is being written by another program.")


def _replaced(place: Place, current: Current, data: bytes, stop: threading.Event) -> tuple[int, int] | None:
    """Rename a new file over the old one. Returns its (device, inode), or None if it can't have the file's mode,
    owner and attributes.

    Its lock stays held, so processes waiting for the old file's lock then wait for this one.
    """
    try:
        descriptor = _temporary(place, 0o600, stop)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.ELOOP):
            return None
        raise
    current.held.callback(os.close, descriptor)
    try:
        write_all(descriptor, data)
        if not _carry_over(current, descriptor):
            _forget(place)
            return None
        sync_file(descriptor)
        _check_unchanged(place, current)
        os.rename(leftover_name(place, "tmp"), place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except (OSError, ToolError):
        _forget(place)
        raise
    _sync_folder(place)
    state = os.fstat(descriptor)
    return state.st_dev, state.st_ino


def _carry_over(current: Current, descriptor: int) -> bool:
    """Copy owner, attributes (including access lists) and mode to a new file; return False if that fails."""
    state = current.state
    try:
        if (os.geteuid(), os.fstat(descriptor).st_gid) != (state.st_uid, state.st_gid):
            os.fchown(descriptor, state.st_uid, state.st_gid)
        _carry_attributes(current.descriptor, descriptor)
        os.fchmod(descriptor, stat.S_IMODE(state.st_mode))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        return False
    made = os.fstat(descriptor)
    return (made.st_uid, made.st_gid, made.st_mode) == (state.st_uid, state.st_gid, state.st_mode)


def _carry_attributes(source: int, target: int) -> None:
    if sys.platform != "linux":
        return
    try:
        wanted = {name: os.getxattr(source, name) for name in os.listxattr(source)}
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return
        raise
    present = {name: os.getxattr(target, name) for name in os.listxattr(target)}
    for name in present.keys() - wanted.keys():
        os.removexattr(target, name)
    for name, value in wanted.items():
        if present.get(name) != value:
            os.setxattr(target, name, value)


def _check_unchanged(place: Place, current: Current) -> None:
    """Raise ToolError if the file was replaced or written since it was read."""
    now, then = place.stat(), current.state
    if now is None or (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns) != (
        then.st_dev,
        then.st_ino,
        then.st_size,
        then.st_mtime_ns,
    ):
        raise ToolError(f"{place.path} was changed by another program just now; read it again.")


def _link(place: Place) -> None:
    """Rename the temporary file. Raises FileExistsError if the name is taken."""
    name = leftover_name(place, "tmp")
    try:
        os.link(name, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder, follow_symlinks=False)
    except OSError:  # also on a file system without hard links
        if place.stat() is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(name, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)


def _forget(place: Place) -> None:
    with contextlib.suppress(OSError):
        os.unlink(leftover_name(place, "tmp"), dir_fd=place.folder)


def _sync_folder(place: Place) -> None:
    """Sync the folder, if the system allows it, so that the new name is durable."""
    with contextlib.suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=place.folder)
        try:
            sync_file(descriptor)
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    """Lock the file; return whether this process now holds the lock. Always True on a file system without locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _has_name(descriptor: int, name: str, folder: int) -> bool:
    try:
        named = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(descriptor))
