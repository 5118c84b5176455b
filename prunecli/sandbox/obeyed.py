"""Set aside what a command made for other programs to obey: an `AGENTS.md`, a `.vscode` folder.

What exists is read-only while a command runs. A path that does not exist can be closed only by mounting something
there, which the editor, the watchers and the builds of the workspace would see come and go. So it is looked at again
after the command, and what is new is renamed: nothing is lost, and no program obeys the new name.
"""

import os
from collections.abc import Iterable, Mapping

from prunecli.sanitize import one_line

Identity = tuple[int, int] | str
"""Device and inode, or the target of a link."""
END = ".set-aside"
_MOST_NAMED = 3


def identities(paths: Iterable[str]) -> dict[str, Identity]:
    """The identity of each path that exists."""
    found = dict[str, Identity]()
    for path in paths:
        try:
            status = os.lstat(path)
            found[path] = os.readlink(path) if os.path.islink(path) else (status.st_dev, status.st_ino)
        except OSError:
            continue
    return found


def set_aside(before: Mapping[str, Identity], after: Iterable[str]) -> list[str]:
    """Rename what was made or replaced since `before`, and return the former paths. What was only moved stays."""
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
            continue  # a folder above it was set aside, or it is gone
        done.append(path)
    return done


def in_words(paths: Iterable[str], workspace: str) -> str:
    """What was set aside, with the way out, in one line; "" for nothing."""
    names = [one_line(path.removeprefix(workspace.rstrip("/") + "/")) for path in paths]
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (
        f"the sandbox renamed {', '.join(names[:_MOST_NAMED])}{more} to *{END}, because other programs obey such"
        " files; to make them, use the write tool, which asks the user"
    )


def _free(path: str) -> str:
    """The path, with the first free number appended if it is taken."""
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = f"{path}-{number}"
    return free
