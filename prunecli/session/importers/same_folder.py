"""Finds the folders that share their sessions: a folder under all its paths, and its place in other worktrees.

Another agent may have been started through a link, or in another worktree of the same repository. This module reads
git's own small files, so listing sessions does not run git.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from prunecli.util.regular import open_regular

_MOST_BYTES = 4_096
_MOST_WORKTREES = 200


def same_folders(cwd: Path, shown_as: str) -> tuple[Path, ...]:
    """Return the folders that share their sessions with `cwd`, which is first. `shown_as` is $PWD."""
    real = cwd.resolve()
    found = [cwd, real]
    if shown_as.startswith("/") and os.path.realpath(shown_as) == str(real):
        found.append(Path(shown_as))
    for root, common in _repository(real):
        inner = real.relative_to(root)
        found += [other / inner for other in _worktrees(common)]
    return tuple(dict.fromkeys(found))


def is_one_of(folder: str, folders: tuple[Path, ...]) -> bool:
    """Return whether a recorded directory is one of these folders, directly or through a link."""
    if not folder.startswith("/"):
        return False
    path = Path(folder)
    try:
        return path in folders or path.resolve() in folders
    except (OSError, RuntimeError, ValueError):
        return False


def _repository(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the root of a folder's worktree and the repository's common git folder; nothing outside a repository."""
    for root in (folder, *folder.parents):
        git = root / ".git"
        if os.path.isdir(git):
            yield root, git
            return
        if os.path.isfile(git):
            given = _line(git).removeprefix("gitdir:").strip()
            own = Path(os.path.realpath(root / given)) if given else git
            common = _line(own / "commondir")
            if common:
                yield root, Path(os.path.realpath(own / common))
            return


def _worktrees(common: Path) -> Iterator[Path]:
    if common.name == ".git":
        yield common.parent
    for number, link in enumerate(sorted(common.glob("worktrees/*/gitdir"))):
        if number == _MOST_WORKTREES:
            return
        if (told := _line(link)).startswith("/"):
            yield Path(told).parent


def _line(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return file.readline(_MOST_BYTES).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return ""
