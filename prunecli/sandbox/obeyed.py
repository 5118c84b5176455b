"""Sets aside new files that control other programs, such as an `AGENTS.md` or a `.vscode` folder made by a command.

Existing ones are read-only while a command runs. A missing path can be closed only by mounting something there, which
editors, watchers and builds in the workspace would see appear and disappear. So these paths are checked after the
command, and new files are renamed. Nothing is lost, and no program uses the new name.
"""

import os
from collections.abc import Iterable, Mapping

from prunecli.sanitize import one_line

Identity = tuple[int, int] | str
"""Device and inode, or the target of a link."""
END = ".set-aside"
_MOST_NAMED = 3


def identities(paths: Iterable[str]) -> dict[str, Identity]:
    """Return the identity of each path that exists."""
    found = dict[str, Identity]()
    for path in paths:
        try:
            status = os.lstat(path)
            found[path] = os.readlink(path) if os.path.islink(path) else (status.st_dev, status.st_ino)
        except OSError:
            continue
    return found


def set_aside(before: Mapping[str, Identity], after: Iterable[str]) -> list[str]:
    """Rename files that were made or replaced since `before`, and return their former paths. Files that were only
    moved stay."""
    known, done = set(before.values()), list[str]()
    for path, identity in identities(after).items():
        was = before.get(path)
        if identity == was or (isinstance(identity, tuple) and identity in known):
            continue
        try:
            os.rename(path, _free(path + END))
            if isinstance(was, str):
                os.symlink(was, path)
        except OSError:
            continue  # a folder above it was set aside, or the file is gone
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


def _free(path: str) -> str:
    """Return the path, with the first free number appended if it is taken."""
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = f"{path}-{number}"
    return free
