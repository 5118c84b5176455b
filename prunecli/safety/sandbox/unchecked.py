"""Checks what commands made whose end nobody saw: detached ones, and those of a program that was killed.

Every command leaves a note of the repositories that were there before it. The note is locked as long as the sandbox
lasts (see `placeholders.py`) and removed after the check at the command's end. So one without a lock was left behind.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from prunecli.safety.sandbox.control_files import Identity, identities, set_aside, startable
from prunecli.safety.sandbox.scan import SecretScan
from prunecli.util.private_file import make_private

_NEW = ".new"
_ours = set[str]()
"""Notes of commands of this program, which it checks itself."""


@contextmanager
def noted(folder: str, roots: Sequence[str], before: Mapping[str, Identity]) -> Iterator[int | None]:
    """Leave a note while a command runs in `roots`, and yield the descriptor that holds its lock. None if `folder` is
    "" or can't be written: then nothing is checked after a kill."""
    path = os.path.join(folder, os.urandom(6).hex())
    known = {name: one if isinstance(one, str) else one[1] for name, one in before.items()}
    try:
        lock = _written(path, {"roots": roots, "known": known}) if folder else None
    except OSError:
        lock = None
    if lock is None:
        yield None
        return
    _ours.add(path)
    try:
        yield lock
    finally:
        _ours.discard(path)
        os.close(lock)
        with suppress(OSError), _locked(path) as is_over:
            if is_over:
                os.unlink(path)


def _written(path: str, note: Mapping[str, object]) -> int:
    make_private(Path(path).parent)
    lock = os.open(path + _NEW, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        os.write(lock, json.dumps(note).encode())
        os.rename(path + _NEW, path)
    except OSError:
        os.close(lock)
        os.unlink(path + _NEW)
        raise
    return lock


@contextmanager
def _locked(path: str) -> Iterator[bool]:
    """Yield whether no command holds the note any more."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


def check(folder: str, roots: Sequence[str], doubt: Callable[[str], str]) -> list[str]:
    """Rename the repositories that commands of other programs made in these folders and that may start programs.
    Return their former paths. `doubt` is that of `git_folders.is_plain`."""
    renamed, names = list[str](), list[str]()
    with suppress(OSError):  # there is none, or it is somebody else's
        names = os.listdir(folder)
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(_NEW) or path in _ours:
            continue
        with suppress(OSError), _locked(path) as is_over:
            noted_roots, known = _read(path)
            if noted_roots and not set(noted_roots) & set(roots):
                continue
            for root in filter(os.path.isdir, noted_roots):
                renamed += _set_aside(root, known, doubt)
            if is_over:
                os.unlink(path)
    return renamed


def _read(path: str) -> tuple[list[str], Mapping[str, int | str]]:
    """Return the folders of a note, and the inode numbers of what was there, or the targets of links."""
    try:
        note = json.loads(Path(path).read_bytes())
        return [str(root) for root in note["roots"]], dict(note["known"])
    except (ValueError, TypeError, KeyError):
        return [], {}  # the disk was full


def _set_aside(root: str, known: Mapping[str, int | str], doubt: Callable[[str], str]) -> list[str]:
    found, inodes = _scan(root).files(), {one for one in known.values() if isinstance(one, int)}
    before = {
        path: one
        for path, one in identities((*found.obeyed, *found.bare)).items()
        if known.get(path) == one or (not isinstance(one, str) and one[1] in inodes)
    }
    return set_aside(before, *startable(found, before, (root,), doubt))


@cache
def _scan(root: str) -> SecretScan:
    """Return a scan for repositories only."""
    return SecretScan(root, lambda _: False, is_obeyed=lambda path: os.path.basename(path).lower() == ".git")
