"""Walks the files that a search covers, sorted by name, without following links.

The search for lines imports this module too, so it imports only fast modules.
"""

import os
from collections.abc import Callable, Container, Iterator

from prunecli.tools.searching.gitignore import GIT, Level, is_ignored, levels_at

FILE, FOLDER, OTHER = "file", "folder", "other"


def walk(
    root: str,
    passed_over: Container[str] = (),
    ignored: list[str] | None = None,
    over: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[str, str]]:
    """Yield (path relative to the root, kind) for everything below an absolute folder, folders before their contents.

    Omits ignored files, names in `passed_over`, .git and unreadable folders. A link has the kind OTHER, regardless of
    its target. Ignored paths are added to `ignored`; their contents are not. Ends early once `over` returns True.
    """
    pending = [_Folder("", levels_at(root))]
    while pending:
        folder = pending[-1]
        if folder.entries is None:
            folder.read(root)
        entry = next(folder.entries or iter(()), None)
        if entry is None:
            pending.pop()
            continue
        if over():
            return
        if entry.name in passed_over:
            continue
        kind = _kind(entry)
        relative = folder.relative + entry.name
        if is_ignored(folder.levels, os.path.join(root, relative), entry.name, kind == FOLDER):
            if ignored is not None:
                ignored.append(relative + "/" * (kind == FOLDER))
            continue
        yield relative, kind
        if kind == FOLDER:
            pending.append(_Folder(relative + "/", folder.levels))


class _Folder:
    """A folder of the walk: its path with a slash at the end, the levels for its contents, and the remaining
    entries."""

    __slots__ = ("entries", "levels", "relative")

    def __init__(self, relative: str, levels: tuple[Level, ...]) -> None:
        self.relative = relative
        self.levels = levels
        self.entries: Iterator[os.DirEntry[str]] | None = None

    def read(self, root: str) -> None:
        """List the folder, and put its own level before the levels above."""
        path = os.path.join(root, self.relative.rstrip("/")) if self.relative else root
        try:
            with os.scandir(path) as found:
                entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
        except OSError:
            entries = []
        names = {entry.name for entry in entries} if self.relative else set[str]()
        if not names.isdisjoint((GIT, ".gitignore")):
            level = Level(path, has_gitignore=".gitignore" in names, has_git=GIT in names)
            self.levels = (level,) if level.is_top else (level, *self.levels)
        self.entries = iter([entry for entry in entries if entry.name != GIT])


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_dir(follow_symlinks=False):
            return FOLDER
        return FILE if entry.is_file(follow_symlinks=False) else OTHER
    except OSError:
        return OTHER
