"""Restores files from an earlier snapshot: previews the changes and makes them file by file.

Changes only files that the agent changed. Never follows links, and never deletes ignored or unsaved files. A file
that changed since the snapshot taken just before is left alone.
"""

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from prunecli.features.rewind.copies import Copies, name_of
from prunecli.features.rewind.snapshots import FileChange, Saved, Snapshots, Version
from prunecli.model.codec import well_formed
from prunecli.model.events import FilesSaved, Record
from prunecli.session.timeline import saved_after, spans, trees_after
from prunecli.tools.files.atomic_write import create_file, locked, replace_content
from prunecli.tools.files.workspace import Place
from prunecli.util.errors import ToolError
from prunecli.util.figures import counted
from prunecli.util.frozen import frozen

Kept: TypeAlias = Snapshots | Copies
"""The snapshots of a workspace: made with git, or only of edited files."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LINK = "120000"
_PROGRAM = "100755"
_KNOWN = ("100644", _PROGRAM, _LINK)


@frozen
class Outlook:
    """The file changes of a rewind, starting from the current state.

    `foreign` are changed paths that someone else edited since the agent's last work. `unknown` paths cannot be
    restored.
    """

    changes: tuple[FileChange, ...] = ()
    foreign: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def added(self) -> int:
        """Lines added since, which the rewind removes."""
        return sum(max(0, change.removed) for change in self.changes)

    @property
    def removed(self) -> int:
        """Lines removed since, which the rewind restores."""
        return sum(max(0, change.added) for change in self.changes)

    def below(self, root: Path) -> "Outlook":
        return Outlook(
            tuple(replace(change, path=str(root / change.path)) for change in self.changes),
            tuple(str(root / path) for path in self.foreign),
            tuple(str(root / path) for path in self.unknown),
        )


def joined(parts: Sequence[Outlook], cwd: Path) -> Outlook:
    """Return the combined outlook of several folders, which may be nested; the first starts at `cwd`."""
    changes = [change for part in parts for change in part.changes]
    once = {cwd / change.path: change for change in reversed(changes)}
    return Outlook(
        tuple(change for change in changes if once[cwd / change.path] is change),
        tuple(path for part in parts for path in part.foreign),
        tuple(path for part in parts for path in part.unknown),
    )


@frozen
class Restored:
    """The restored paths, the deleted ones, and the skipped ones with their reasons."""

    paths: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()

    def joined(self, other: "Restored") -> "Restored":
        return Restored(
            (*self.paths, *other.paths), (*self.deleted, *other.deleted), (*self.left, *other.left)
        )

    @property
    def words(self) -> str:
        parts = []
        if self.paths:
            parts.append(f"{counted(len(self.paths), 'file')} restored")
        if self.deleted:
            parts.append(f"{len(self.deleted) if parts else counted(len(self.deleted), 'file')} deleted")
        return f"{', '.join(parts)}; /rewind can undo that." if parts else "No files changed."


def outlooks(
    snapshots: Kept,
    records: Sequence[Record],
    seqs: Sequence[int],
    now: Saved,
    beside: Set[str] = frozenset(),
) -> list[Outlook]:
    """Return the file changes of a rewind to the state after each of these records. Raises SnapshotFailed.

    `beside` are paths that another session changed.
    """
    root = str(snapshots.workspace)
    saves = [record for record in records if isinstance(record.event, FilesSaved)]
    firsts = [saved_after(saves, seq, root) for seq in seqs]
    trees = [
        snapshots.first(trees_after(saves, seq, root)) if first else ""
        for seq, first in zip(seqs, firsts, strict=True)
    ]
    works = [(span.start, span.end or now.tree) for span in spans(saves, -1, root)]
    last = _last_end(saves, root)
    pairs = [*((now.tree, tree) for tree in trees if tree), *works, *([(last, now.tree)] if last else [])]
    asked = list(dict.fromkeys(pairs))
    found = dict(zip(asked, snapshots.changes(asked), strict=True))
    foreign = {change.path for change in found[last, now.tree]} if last else set[str]()
    touched = [frozenset[str]()]  # index n: the paths changed in the last n work spans
    for pair in reversed(works):
        touched.append(touched[-1].union(change.path for change in found[pair]) - beside)
    return [
        _outlook(found[now.tree, tree], touched[len(spans(saves, seq, root))], foreign, first, now)
        if first
        else Outlook()
        for seq, first, tree in zip(seqs, firsts, trees, strict=True)
    ]


def _last_end(records: Sequence[Record], root: str) -> str | None:
    for record in reversed(records):
        if isinstance(record.event, FilesSaved) and record.event.root == root:
            return record.event.tree if record.event.moment == "after" else None
    return None


def _outlook(
    changes: Sequence[FileChange], touched: Set[str], foreign: set[str], first: FilesSaved, now: Saved
) -> Outlook:
    ours = [change for change in changes if change.path in touched]
    unsaved = {*first.skipped, *now.skipped}
    unknown = [change for change in ours if not _is_known(change, unsaved)]
    kept = tuple(change for change in ours if change not in unknown)
    return Outlook(
        kept,
        tuple(change.path for change in kept if change.path in foreign),
        tuple(change.path for change in unknown),
    )


def _is_known(change: FileChange, unsaved: set[str]) -> bool:
    modes = {version.mode for version in (change.old, change.new) if version}
    return well_formed(change.path) not in unsaved and modes <= set(_KNOWN)


# Restoring ---------------------------------------------------------------------------------------------------


def restore(snapshots: Kept, changes: Sequence[FileChange], stop: threading.Event) -> Restored:
    """Make these changes, each file completely or not at all. Stops between two files if asked to.

    First remove files that block a folder, then write all files, including ignore files. Then delete files that the
    restored rules do not ignore. Raises SnapshotFailed if contents are lost.
    """
    wanted = [change for change in changes if change.new]
    gone = [change for change in changes if not change.new]
    needed = {str(parent) for change in wanted for parent in PurePosixPath(change.path).parents}
    covering = {change.path for change in wanted}
    in_the_way = [
        change
        for change in gone
        if change.path in needed
        or any(str(parent) in covering for parent in PurePosixPath(change.path).parents)
    ]
    later = [change for change in gone if change not in in_the_way]
    contents = snapshots.contents(change.new.blob for change in wanted if change.new)
    work = _Work(snapshots.workspace, stop)
    for change in in_the_way:
        work.delete(change)
    for change in wanted:
        work.write(change, next(contents))
    ignored = snapshots.ignored([change.path for change in later])
    for change in later:
        if change.path in ignored:
            work.left.append((change.path, "ignored by git"))
        else:
            work.delete(change)
    return Restored(tuple(work.written), tuple(work.deleted), tuple(work.left))


class _Work:
    def __init__(self, workspace: Path, stop: threading.Event) -> None:
        self._workspace = workspace
        self._stop = stop
        self.written: list[str] = []
        self.deleted: list[str] = []
        self.left: list[tuple[str, str]] = []

    def write(self, change: FileChange, data: bytes) -> None:
        self._account(change, self.written, lambda: self._write(change, data))

    def delete(self, change: FileChange) -> None:
        self._account(change, self.deleted, lambda: self._delete(change))

    def _account(self, change: FileChange, done: list[str], work: Callable[[], None]) -> None:
        try:
            if self._stop.is_set():
                raise ToolError("interrupted")
            work()
        except OSError as error:
            self.left.append((change.path, error.strerror or str(error)))
        except ToolError as error:
            self.left.append((change.path, str(error)))
        else:
            done.append(change.path)

    def _write(self, change: FileChange, data: bytes) -> None:
        with self._folder(change.path, create=True) as place:
            if change.new and change.new.mode == _LINK:
                _check(place, change.old)
                _put_link(place, data)
            else:
                _put_file(place, change, data, self._stop)

    def _delete(self, change: FileChange) -> None:
        with self._folder(change.path) as place:
            _check(place, change.old)
            os.unlink(place.name, dir_fd=place.folder)
        for parent in PurePosixPath(change.path).parents:
            if str(parent) == ".":
                break
            try:
                with self._folder(str(parent)) as place:
                    os.rmdir(place.name, dir_fd=place.folder)
            except OSError:
                break  # not empty

    @contextlib.contextmanager
    def _folder(self, path: str, *, create: bool = False) -> Iterator[Place]:
        """Open the folder of a path, starting at the workspace and following no links. Raises OSError."""
        *parents, name = path.split("/")
        if not name or ".." in parents or name in (".", "..") or ".git" in (*parents, name):
            raise ToolError("this path is never restored")
        folder = os.open(self._workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parents:
                if create:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=folder)
                inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield Place(folder, name, str(self._workspace / path))
        finally:
            os.close(folder)


def _put_file(place: Place, change: FileChange, data: bytes, stop: threading.Event) -> None:
    state = place.stat()
    if state is not None and not stat.S_ISREG(state.st_mode):
        _check(place, change.old)
        if stat.S_ISDIR(state.st_mode):
            raise ToolError("a folder is in the way")
        os.unlink(place.name, dir_fd=place.folder)
        state = None
    if state is None:
        if change.old is not None and change.old.mode != _LINK:
            raise ToolError("the file changed in the meantime")
        create_file(place, data, stop)
    else:
        with locked(place, stop) as current:
            if change.old is None or name_of(current.data) != change.old.blob:
                raise ToolError("the file changed in the meantime")
            if current.data != data:
                replace_content(place, current, data, stop)
    _set_mode(place, program=change.new is not None and change.new.mode == _PROGRAM)


def _put_link(place: Place, data: bytes) -> None:
    name = f".prunecli-{os.getpid()}-link.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=place.folder)
    os.symlink(data, name.encode(), dir_fd=place.folder)
    os.rename(name, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)


def _set_mode(place: Place, *, program: bool) -> None:
    """Set or clear the execute bits of those who may read the file; all other bits stay."""
    state = place.stat()
    if state is None or not stat.S_ISREG(state.st_mode):
        return
    mode = stat.S_IMODE(state.st_mode)
    wanted = mode | (mode & 0o444) >> 2 if program else mode & ~0o111
    if wanted != mode:
        descriptor = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder)
        try:
            os.fchmod(descriptor, wanted)
        finally:
            os.close(descriptor)


def _check(place: Place, expected: Version | None) -> None:
    if not _is(place, expected):
        raise ToolError("the file changed in the meantime")


def _is(place: Place, expected: Version | None) -> bool:
    state = place.stat()
    if state is None or expected is None:
        return state is None and expected is None
    link = stat.S_ISLNK(state.st_mode)
    if link != (expected.mode == _LINK) or not (link or stat.S_ISREG(state.st_mode)):
        return False
    return name_of(_content(place, link=link)) == expected.blob


def _content(place: Place, *, link: bool) -> bytes:
    if link:
        return os.fsencode(os.readlink(place.name, dir_fd=place.folder))
    descriptor = os.open(
        place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place.folder
    )
    with open(descriptor, "rb") as file:
        return file.read()
