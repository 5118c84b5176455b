"""The files that a search leaves out because they may contain secrets.

They are listed by their names, never by their content: a note that depended on the pattern would reveal the content
bit by bit.
"""

import os
from collections.abc import Mapping

from prunecli.frozen import frozen
from prunecli.tools.files.secret_paths import looks_secret, may_look_secret
from prunecli.tools.searching.names import shown_name
from prunecli.tools.searching.scope import Scope
from prunecli.tools.searching.search import scan

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


async def secrets_in(scope: Scope, env: Mapping[str, str]) -> Secrets:
    """Find the files below the scope's folder that may contain secrets. Raises ToolError."""
    data = bytearray()

    def take(chunk: bytes) -> bool:
        data.extend(chunk)
        return True

    ended = await scan(["secrets", scope.root], scope.root, env, take)
    paths = [os.fsdecode(path) for path in bytes(data).split(b"\0")[:-1]]
    found = frozenset(path for path in paths if path)
    return Secrets(found, scope.root, "" not in paths and not ended.timed_out)
