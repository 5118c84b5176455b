"""Tells whether a repository leads out of itself, so that a git command may print files or commits from elsewhere.

An archive can bring a `.git` with links, or with files that name other folders. Git follows both: `git status` prints
the text of `rebase-merge/onto`, wherever that link leads. So one rule holds for every git command: a `.git` that
leads elsewhere is not read without asking. Linked worktrees are allowed, since their repository points back to them.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from prunecli.util.regular import open_regular

_BLAME_IGNORES = ".git-blame-ignore-revs"
_SETTING = re.compile(
    r"""(?:^|\])[ \t]*(worktree|path|file|excludesfile|attributesfile|ignorerevsfile|refstorage)[ \t]*=
    (?![ \t]*"?(?:\.git-blame-ignore-revs|files|reftable)"?[ \t\r]*$)""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
"""Settings that name a file or folder to read, unless they have a usual value that stays inside."""
_UNREAD = frozenset({"hooks", "modules", "lfs"})
"""Folders of `.git` that no allowed command reads: hooks are off, and repositories with submodules ask anyway."""
_ELSEWHERE = frozenset({"alternates", "http-alternates"})
_CONFIG = frozenset({"config", "config.worktree"})
_MAX_ENTRIES = 100_000
_MAX_BYTES = 1_000_000


def leads_elsewhere(git: Path) -> str:
    """Return what in the repository of this `.git` leads out of it, or "". Raises OSError."""
    if os.path.islink(git):
        return f"{git} is a link"
    common = os.path.realpath(git)
    if not os.path.isdir(git):
        own = _named(git, "gitdir: ")
        common = os.path.dirname(os.path.dirname(own))
        worktree = os.path.basename(os.path.dirname(own)) == "worktrees"
        if not worktree or _named(Path(own, "gitdir")) != os.path.realpath(git):
            return f"{git} names a repository elsewhere"
    if os.path.islink(git.parent / _BLAME_IGNORES):
        return f"{git.parent / _BLAME_IGNORES} is a link"
    for count, entry in enumerate(_entries(common)):
        if entry.is_symlink():
            return f"{entry.path} is a link"
        if entry.name == "commondir" and _named(Path(entry.path)) != common:
            return f"{entry.path} names a folder elsewhere"
        if entry.name in _ELSEWHERE and entry.stat().st_size:
            return f"{entry.path} names a folder elsewhere"
        if entry.name in _CONFIG and (match := _SETTING.search(_text(Path(entry.path)))):
            return f"{match[1]} in {entry.path} names a file or folder"
        if count >= _MAX_ENTRIES:
            return f"{common} has too many files to check for links"
    return ""


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield everything below a git folder that allowed commands may read."""
    pending = [folder]
    while pending:
        above = pending.pop()
        with os.scandir(above) as entries:
            for entry in entries:
                if above == folder and entry.name in _UNREAD and not entry.is_symlink():
                    continue
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def _named(path: Path, prefix: str = "") -> str:
    """Return the real path that a file of git names in its only line, seen from its folder."""
    return os.path.realpath(path.parent / _text(path).rstrip("\r\n").removeprefix(prefix))


def _text(path: Path) -> str:
    with open_regular(path) as file:
        return os.fsdecode(file.read(_MAX_BYTES))
