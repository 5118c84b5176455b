"""Finds the workspace's files that contain secrets or control other programs, quickly and again for each command.

A folder is read again only if its ctime changed, which a command cannot set back as it can the mtime. A recently
changed folder is always read again, because file system clocks are coarse. Installed packages are skipped, since
their keys are examples and their certificates are needed.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from prunecli.safety.sandbox.git_folders import is_git_folder
from prunecli.safety.sandbox.real_folders import READ, end_of, opened
from prunecli.util.frozen import frozen

MOST_FOLDERS = 20_000
MAX_DEPTH = 1000
"""The depth of a scan that has no limit."""
_RACY_NS = 50_000_000
_INSTALLED = frozenset(
    {".git", "node_modules", "site-packages", "dist-packages", "__pycache__", ".venv", "venv"}
)
"""Folders of installed packages and of git, whose content is not the user's."""


@frozen
class Found:
    """The real paths of the secret files. `complete` is False if there were too many folders to examine.

    `obeyed` are the paths, as found, of files that control other programs, and `bare` the folders that git takes for
    repositories without being named `.git`.
    """

    paths: tuple[str, ...]
    complete: bool
    obeyed: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()


@frozen
class _Folder:
    changed: int
    seen: int
    folders: tuple[str, ...]
    secrets: tuple[str, ...]
    obeyed: tuple[str, ...]
    bare: tuple[str, ...]
    unlisted: tuple[str, ...]
    """Folders that are not searched, only for a repository: installed packages, and those that can't be listed."""
    plain: frozenset[str]
    """Names of ordinary files, stored after the first change of the folder, so that they are not judged again."""


class SecretScan:
    """A scan for files below a folder, at most `depth` folders deep. `is_secret` and `is_obeyed` judge a path by its
    text.

    Files in a folder that controls other programs are not listed separately.
    """

    def __init__(
        self,
        root: str,
        is_secret: Callable[[str], bool],
        *,
        is_obeyed: Callable[[str], bool] = lambda _: False,
        most: int = MOST_FOLDERS,
        depth: int = MAX_DEPTH,
    ) -> None:
        self._root = root
        self._slashes = root.rstrip("/").count("/") + depth
        self._is_secret = is_secret
        self._is_obeyed = is_obeyed
        self._most = most
        self._known: dict[str, _Folder] = {}

    def files(self) -> Found:
        """Return the current secret files, with every other name of the same files.

        Folders of the last scan come first, so that a command can't hide files in them by making many folders.
        """
        known, pending, complete = dict[str, _Folder](), deque([self._root]), True
        new = deque[str]()
        while pending or new:
            path = (pending or new).popleft()
            if len(known) >= self._most:
                complete = False
                break
            folder = self._folder(path)
            if folder is None:
                continue
            known[path] = folder
            for below in folder.folders if path.count("/") < self._slashes else ():
                (pending if below in self._known else new).append(below)
        self._known = known
        named = [path for folder in known.values() for path in folder.secrets]
        ends = {end for path in named if self._is_hideable(end := end_of(path))}
        obeyed = [path for folder in known.values() for path in folder.obeyed]
        bare = [path for folder in known.values() for path in folder.bare]
        for path in (path for folder in known.values() for path in folder.unlisted):
            if os.path.lexists(git := os.path.join(path, ".git")) and self._is_obeyed(git):
                obeyed.append(git)
            if is_git_folder(path):
                bare.append(path)
        hidden = tuple(sorted({*ends, *self._twins(ends)}))
        return Found(hidden, complete, tuple(sorted(obeyed)), tuple(sorted(bare)))

    def _folder(self, path: str) -> _Folder | None:
        """Return what is in a folder; None if it is gone, or a command has put a link in its way."""
        try:
            status = os.lstat(path)
            known = self._known.get(path)
            if known and known.changed == status.st_ctime_ns and known.seen - known.changed > _RACY_NS:
                return known
            with opened(path, below=self._root, flags=READ) as folder:
                return self._listed(path, folder, known)
        except PermissionError:
            return _Folder(0, 0, (), (), (), (), (path,), frozenset())
        except OSError:
            return None

    def _listed(self, path: str, folder: int, known: _Folder | None) -> _Folder:
        changed, seen = os.fstat(folder).st_ctime_ns, time.time_ns()
        folders, secrets, obeyed = list[str](), list[str](), list[str]()
        bare, unlisted = list[str](), list[str]()
        plain, names = set[str](), set[str]()
        with os.scandir(folder) as entries:
            for entry in entries:
                here = os.path.join(path, entry.name)
                names.add(entry.name.lower())
                is_known = known is not None and entry.name in known.plain
                is_obeyed = not is_known and self._is_obeyed(here)
                is_secret = not is_known and self._is_secret(here)
                if is_obeyed:
                    obeyed.append(here)
                if known and not is_obeyed and not is_secret:
                    plain.add(entry.name)
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder and entry.name in _INSTALLED:
                    if entry.name != ".git":
                        unlisted.append(here)
                elif is_secret:
                    secrets.append(here)
                elif is_folder:
                    folders.append(here)
        if "head" in names and is_git_folder(path):
            bare.append(path)
        return _Folder(
            changed,
            seen,
            tuple(folders),
            tuple(secrets),
            tuple(obeyed),
            tuple(bare),
            tuple(unlisted),
            frozenset(plain),
        )

    def _is_hideable(self, end: str) -> bool:
        """Return whether the target of a link may be hidden: a repository must not be able to hide a system
        folder."""
        inside = end.startswith(self._root.rstrip("/") + "/")
        return inside or self._is_secret(end) or os.path.isfile(end)

    def _twins(self, paths: set[str]) -> set[str]:
        """Return other names (hard links) of these files in the workspace."""
        inodes = {found for path in paths if (found := _linked(path))}
        twins = set[str]()
        if inodes:
            for path in self._known:
                with suppress(OSError), opened(path, below=self._root, flags=READ) as folder:
                    with os.scandir(folder) as entries:
                        names = [entry.name for entry in entries if entry.inode() in inodes]
                    twins |= {os.path.join(path, name) for name in names}
        return twins


def _linked(path: str) -> int:
    """Return the inode of a file with several names, else 0."""
    try:
        status = os.lstat(path)
    except OSError:
        return 0
    return status.st_ino if status.st_nlink > 1 and stat.S_ISREG(status.st_mode) else 0
