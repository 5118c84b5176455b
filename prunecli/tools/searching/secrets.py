"""The files that a search leaves out because they may contain secrets.

They are listed by their names, never by their content: a note that depended on the pattern would reveal the content
bit by bit.
"""

import os
import stat

from prunecli.tools.files.in_thread import in_thread
from prunecli.tools.files.secret_paths import looks_secret, may_look_secret
from prunecli.tools.searching.names import shown_name
from prunecli.tools.searching.scope import Scope
from prunecli.tools.searching.search import Over
from prunecli.util.frozen import frozen

MAX_ENTRIES = 20_000
"""Maximum directory entries that any search examines for secrets."""
PACKAGES = frozenset({".git", ".hg", "node_modules", "site-packages"})
"""Folders of version control and installed packages, whose files are not the user's secrets."""
_SHOWN = 5


@frozen
class Secrets:
    """The secret paths below `root`; without a root, nothing is left out.

    `complete` is False if there were too many files to examine.
    """

    paths: frozenset[str] = frozenset()
    root: str = ""
    complete: bool = True

    def hold(self, path: str) -> bool:
        """Return whether the search leaves a file out. If not all files were examined, hard links are left out
        too."""
        if not self.root:
            return False
        if path in self.paths or (may_look_secret(path) and looks_secret(path)):
            return True
        return not self.complete and os.stat(os.path.join(self.root, path)).st_nlink > 1

    def note(self, scope: Scope) -> str:
        """Return the note for the model, or ""."""
        if not self.paths:
            return ""
        names = sorted(shown_name(os.path.join(scope.prefix, path)) for path in self.paths)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return (
            f"[not searched, may contain secrets: {', '.join(names[:_SHOWN])}{more}; name one as path to ask]"
        )


async def secrets_in(scope: Scope) -> Secrets:
    """Find the files below the scope's folder that may contain secrets, ignored or not, and hard links to them."""
    return await in_thread(lambda stop: _secrets(scope.root, Over(stop)))


def _secrets(root: str, over: Over) -> Secrets:
    secret, linked, left = list[str](), list[tuple[str, tuple[int, int]]](), MAX_ENTRIES
    for inside, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in PACKAGES]
        left -= len(folders) + len(names)
        if left < 0 or over():
            break
        for name in names:
            path = os.path.relpath(os.path.join(inside, name), root)
            if may_look_secret(path) and looks_secret(path):
                secret.append(path)
            elif (found := _linked(os.path.join(inside, name))) is not None:
                linked.append((path, found))
    known = {_linked(os.path.join(root, path)) for path in secret}
    found_paths = frozenset([*secret, *(path for path, found in linked if found in known)])
    return Secrets(found_paths, root, left >= 0 and not over.timed_out)


def _linked(path: str) -> tuple[int, int] | None:
    """Return the (device, inode) of a file that has more than one name."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_nlink > 1 and stat.S_ISREG(status.st_mode) else None
