"""Sets aside new files that control other programs, such as an `AGENTS.md` or a `.vscode` folder made by a command.

Existing ones are read-only while a command runs. A missing path can be closed only by mounting something there, which
editors, watchers and builds in the workspace would see appear and disappear. So these paths are checked after the
command, and new files are renamed. Nothing is lost, and no program uses the new name.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress

from prunecli.sandbox.git_folders import is_plain, parts
from prunecli.sandbox.layout import PROTECTED, Ground, Layout, lies_below
from prunecli.sandbox.placeholders import is_free
from prunecli.sandbox.real_folders import is_at, opened
from prunecli.sanitize import one_line

Identity = tuple[int, int] | str
"""Device and inode, or the target of a link."""
END = ".set-aside"
_MOST_NAMED = 3
_LONGEST = 200
"""Bytes of a name that are kept, so that the new name is not too long."""


class Made:
    """What a command makes that controls other programs. Its layout says what is there before it runs.

    `granted`: it may make such files, but nothing in the places that are always protected, and no repository that
    names a program.
    """

    def __init__(self, ground: Ground, layout: Layout, *, granted: bool) -> None:
        self._ground = ground
        self._granted = granted
        self._git = layout.reopened
        places = [os.path.join(root, name) for root in ground.roots for name in PROTECTED]
        self._before = identities((*places, *layout.found.obeyed, *layout.found.bare))
        self._parts = {part for folder in self._git for part in parts(folder) if os.path.lexists(part)}
        self._open = [
            path for path in places if not isinstance(self._before.get(path), tuple) or is_free(path)
        ]
        """Protected places where nothing was, or a link."""

    def set_aside(self) -> str:
        """Rename it, and return a line about that; "" if there is nothing."""
        found = self._ground.found()
        after, bare = found.obeyed, found.bare
        if self._granted:
            gits = (path for path in after if os.path.basename(path).lower() == ".git")
            new = (path for path, identity in identities(gits).items() if self._before.get(path) != identity)
            after = (*self._open, *(path for path in new if not self._is_plain(path)))
            bare = tuple(folder for folder in bare if not self._is_plain(folder))
        made = (part for folder in self._git for part in parts(folder) if part not in self._parts)
        after = (*after, *(part for part in made if not self._is_plain(os.path.dirname(part))))
        renamed = set_aside(self._before, [path for path in dict.fromkeys(after) if not is_free(path)], bare)
        return in_words(renamed, self._ground.workspace)

    def _is_plain(self, path: str) -> bool:
        roots = self._ground.roots
        root = next((root for root in roots if lies_below(path, (root,))), self._ground.workspace)
        return is_plain(path, root, self._git, self._ground.doubt)


def identities(paths: Iterable[str]) -> dict[str, Identity]:
    """Return the identity of each path that exists."""
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
            _rename(name, folder)
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


def _rename(name: str, folder: int) -> None:
    """Rename to the first free name, also in a folder that the command made read-only."""
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
