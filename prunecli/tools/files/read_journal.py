"""Writes a file in place so that a crash leaves its old or its new content.

A journal beside the file contains both contents until the write is complete. If a journal is left over and the file
is a mixture of both contents, the old one is restored.
"""

import contextlib
import errno
import hashlib
import os
import re

from prunecli.tools.files.workspace import Place
from prunecli.util.file_systems import sync_file

_WRITE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def leftover_name(place: Place, kind: str) -> str:
    """Return the name of the new content ("tmp") or the journal beside a file, the same after a crash."""
    return f".prunecli-{hashlib.sha256(os.fsencode(place.name)).hexdigest()[:16]}.{kind}"


def written_in_place(place: Place, old: bytes, new: bytes, mode: int) -> None:
    """Write a file in place. If that fails, restore the old content and raise OSError.

    In a read-only folder there is no journal, so a crash could leave a mixture of both contents.
    """
    name = leftover_name(place, "journal")
    kept = _keep(place, name, old, new)
    descriptor = os.open(place.name, _WRITE, dir_fd=place.folder)
    try:
        try:
            _overwrite(descriptor, new)
        except OSError:
            _overwrite(descriptor, old)
            raise
        if os.fstat(descriptor).st_mode & 0o7777 != mode:
            os.fchmod(descriptor, mode)  # writing to a file clears its setuid bit
        sync_file(descriptor)
    finally:
        os.close(descriptor)
        if kept:
            os.unlink(name, dir_fd=place.folder)


def recover(place: Place) -> None:
    """Remove the leftovers of an interrupted change, and undo a half-written one. Raises OSError.

    Call this only for a file that is locked, or that nobody changes.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(leftover_name(place, "tmp"), dir_fd=place.folder)
    name = leftover_name(place, "journal")
    try:
        journal = _read(place, name)
    except FileNotFoundError:
        return
    contents = _contents(journal)
    if contents is not None and place.stat() is not None:
        old, new = contents
        if _is_mixture(_read(place, place.name), old, new):
            descriptor = os.open(place.name, _WRITE, dir_fd=place.folder)
            try:
                _overwrite(descriptor, old)
                sync_file(descriptor)
            finally:
                os.close(descriptor)
    os.unlink(name, dir_fd=place.folder)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all data at the descriptor's position. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _overwrite(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    write_all(descriptor, data)
    os.ftruncate(descriptor, len(data))


def _keep(place: Place, name: str, old: bytes, new: bytes) -> bool:
    """Write the journal, whole or not at all; return False if the folder is not writable."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    begun = leftover_name(place, "tmp")
    try:
        descriptor = os.open(begun, flags, 0o600, dir_fd=place.folder)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return False
        raise
    try:
        write_all(descriptor, b"%d\n%b%b" % (len(old), old, new))
        sync_file(descriptor)
        os.rename(begun, name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except OSError:
        os.unlink(begun, dir_fd=place.folder)
        raise
    finally:
        os.close(descriptor)
    return True


def _contents(journal: bytes) -> tuple[bytes, bytes] | None:
    """Return the old and the new content; None for a file that is no journal."""
    header, _, rest = journal.partition(b"\n")
    if not re.fullmatch(rb"\d{1,12}", header) or len(rest) < int(header):
        return None
    return rest[: int(header)], rest[int(header) :]


def _is_mixture(current: bytes, old: bytes, new: bytes) -> bool:
    """Return whether the content is a partial overwrite: a beginning of `new` followed by the rest of `old`."""
    if current in (old, new):
        return False
    low, high = 0, min(len(current), len(new))
    while low < high:  # the longest common beginning
        middle = (low + high + 1) // 2
        if current[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return current[low:] == old[low:] if low < len(old) else low == len(current)


def _read(place: Place, name: str) -> bytes:
    descriptor = os.open(
        name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place.folder
    )
    with open(descriptor, "rb") as file:
        return file.read()
