"""Sets aside new files that control other programs, such as an `AGENTS.md` or a `.vscode` folder made by a command.

Existing ones are read-only while a command runs. A missing path can be closed only by mounting something there, which
editors, watchers and builds in the workspace would see appear and disappear. So these paths are checked after the
command, and new files are renamed. Nothing is lost, and no program uses the new name.
"""

import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from prunecli.safety.sandbox.git_folders import is_git_folder, is_plain, parts
from prunecli.safety.sandbox.layout import PROTECTED, Ground, Layout, lies_below
from prunecli.safety.sandbox.placeholders import is_free
from prunecli.safety.sandbox.real_folders import is_at, opened
from prunecli.safety.sandbox.scan import Found
from prunecli.util.sanitize import one_line

Identity = tuple[int, int] | str
"""Device and inode, or the target of a link."""
END = ".set-aside"
_REFUSED = "the new repository was not kept, because it may start programs; to make it, set outside=true"
_MOST_NAMED = 3
_LONGEST = 200
"""Bytes of a name that are kept, so that the new name is not too long."""


class Made:
    """What a command makes that controls other programs. Its layout says what is there before it runs.

    `granted`: it may make such files, but nothing in the places that are always protected, and no repository that
    names a program. `fresh` are the folders that stood for a missing `.git`.
    """

    def __init__(
        self, ground: Ground, layout: Layout, *, granted: bool, fresh: Mapping[str, str] = {}
    ) -> None:
        self._ground = ground
        self._fresh = fresh
        self._granted = granted
        self._git = layout.reopened
        self._found = layout.found
        places = [os.path.join(root, name) for root in ground.roots for name in PROTECTED]
        self._before = identities((*places, *layout.found.obeyed, *layout.found.bare))
        self._lock, self._is_over, self._renamed = threading.Lock(), False, list[str]()
        self._parts = {part for folder in self._git for part in parts(folder) if os.path.lexists(part)}
        self._open = [
            path for path in places if not isinstance(self._before.get(path), tuple) or is_free(path)
        ]
        """Protected places where nothing was, or a link."""

    @property
    def repositories(self) -> dict[str, Identity]:
        """What git took for repositories before."""
        return {path: one for path, one in self._before.items() if _is_git(path) or path in self._found.bare}

    def check(self) -> None:
        """Rename new repositories that may start programs while the command still runs: editors look for repositories
        by themselves."""
        with self._lock:
            if not self._is_over:
                wanted = startable(self._ground.found(), self._before, self._ground.roots, self._ground.doubt)
                self._renamed += set_aside(self._before, *wanted)

    def set_aside(self) -> str:
        """Rename it, and return a line about that; "" if there is nothing, or the second time."""
        with self._lock:
            was_over, self._is_over = self._is_over, True
            return "" if was_over else self._set_aside()

    def _set_aside(self) -> str:
        made = {path: folder for path, folder in self._fresh.items() if is_git_folder(folder)}
        refused = [path for path, folder in made.items() if not self._adopted(folder, path)]
        found = self._ground.found()
        after, bare = found.obeyed, found.bare
        if self._granted:
            gits = filter(_is_git, after)
            new = (path for path, identity in identities(gits).items() if self._before.get(path) != identity)
            places = (path for path in self._open if path not in made)
            after = (*places, *(path for path in new if not self._is_plain(path)))
            bare = tuple(folder for folder in bare if not self._is_plain(folder))
        new_parts = (part for folder in self._git for part in parts(folder) if part not in self._parts)
        after = (*after, *(part for part in new_parts if not self._is_plain(os.path.dirname(part))))
        renamed = set_aside(self._before, [path for path in dict.fromkeys(after) if not is_free(path)], bare)
        line = in_words(dict.fromkeys((*self._renamed, *renamed)), self._ground.workspace)
        if not refused:
            return line
        return f"{line}; {_REFUSED}" if line else _REFUSED

    def _adopted(self, folder: str, path: str) -> bool:
        """Copy a new repository to its place. Return False if it names a program or holds a link."""
        root = os.path.dirname(path)
        if not is_free(path) or not is_plain(folder, root, (), self._ground.doubt) or _holds_link(folder):
            return False
        with suppress(OSError, shutil.Error):
            shutil.copytree(folder, path, dirs_exist_ok=True)
        return os.path.exists(os.path.join(path, "HEAD"))

    def _is_plain(self, path: str) -> bool:
        return _is_plain(path, self._ground.roots, self._git, self._ground.doubt)


def startable(
    found: Found, before: Mapping[str, Identity], roots: Sequence[str], doubt: Callable[[str], str]
) -> tuple[list[str], list[str]]:
    """Return the repositories below `roots`, whole ones that are new, that may start programs: each `.git`, and the
    folders without that name. `doubt` is that of `is_plain`."""
    known = [path for path in before if _is_git(path)]
    gits = [path for path in found.obeyed if _is_git(path) and (is_git_folder(path) or not _is_folder(path))]
    new = [path for path, identity in identities(gits).items() if before.get(path) != identity]
    plain = {path for path in (*new, *found.bare) if _is_plain(path, roots, known, doubt)}
    return [path for path in new if path not in plain], [path for path in found.bare if path not in plain]


def _is_git(path: str) -> bool:
    return os.path.basename(path).lower() == ".git"


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _is_plain(path: str, roots: Sequence[str], known: Iterable[str], doubt: Callable[[str], str]) -> bool:
    root = next((root for root in roots if lies_below(path, (root,))), roots[0])
    try:
        return is_plain(path, root, known, doubt)
    except OSError:
        return False  # another command is changing it


def _holds_link(folder: str) -> bool:
    found = os.walk(folder)
    return any(
        os.path.islink(os.path.join(at, name)) for at, *names in found for part in names for name in part
    )


def identities(paths: Iterable[str]) -> dict[str, Identity]:
    found = dict[str, Identity]()
    for path in paths:
        with suppress(OSError):
            found[path] = _identity(path)
    return found


def set_aside(before: Mapping[str, Identity], after: Iterable[str], bare: Iterable[str] = ()) -> list[str]:
    """Rename files that were made or replaced since `before`, and return their former paths. Files that were only
    moved stay. Of the folders `bare`, which git takes for repositories, HEAD is renamed.

    Every folder is opened without following links, since another command may be changing them.
    """
    known, done = set(before.values()), list[str]()
    for path in (*after, *(f"{folder}/HEAD" for folder in bare)):
        with suppress(OSError), opened(os.path.dirname(path)) as folder:
            name, was = os.path.basename(path), before.get(path)
            identity = _identity(name, folder)
            found = os.fstat(folder) if name == "HEAD" else None
            if found and (found.st_dev, found.st_ino) in known:
                continue
            if identity == was or (isinstance(identity, tuple) and identity in known):
                continue
            _close(_rename(name, folder), folder)
            if isinstance(was, str):
                os.symlink(was, name, dir_fd=folder)
            done.append(path)
    return done


def in_words(paths: Iterable[str], workspace: str) -> str:
    """Return a line on the files that were set aside, and how to make them; "" if there are none."""
    names = [one_line(path.removeprefix(workspace.rstrip("/") + "/")) for path in paths]
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (
        f"the sandbox renamed {', '.join(names[:_MOST_NAMED])}{more} to *{END}, because such files control"
        " other programs; to create them, use the write tool, which asks the user"
    )


def _identity(path: str, folder: int | None = None) -> Identity:
    status = os.lstat(path, dir_fd=folder)
    is_link = stat.S_ISLNK(status.st_mode)
    return os.readlink(path, dir_fd=folder) if is_link else (status.st_dev, status.st_ino)


def _close(name: str, folder: int) -> None:
    """Rename HEAD in a renamed folder: git would take the folder for a repository under any name."""
    with suppress(OSError):
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            if is_at("HEAD", inner):
                _rename("HEAD", inner)
        finally:
            os.close(inner)


def _rename(name: str, folder: int) -> str:
    """Rename to the first free name, which is returned, also in a folder that the command made read-only."""
    first = new = os.fsdecode(os.fsencode(name)[:_LONGEST]) + END
    number = 1
    while is_at(new, folder):
        number += 1
        new = f"{first}-{number}"
    try:
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
    except PermissionError:
        here, mode = f"/proc/self/fd/{folder}", stat.S_IMODE(os.fstat(folder).st_mode)
        os.chmod(here, mode | stat.S_IRWXU)
        try:
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.chmod(here, mode)
    return new
