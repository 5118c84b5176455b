"""What no layer may change: settings of repositories and other agents."""

import os
from collections.abc import Callable

from prunecli.safety.proposals.states import State
from prunecli.safety.sandbox.git_folders import is_data, is_git_folder, is_plain
from prunecli.safety.sandbox.layout import PROTECTED
from prunecli.tools.files.secret_paths import folded


class Rules:
    """The rules of a workspace. `upper(root)` is the folder with its changes, and `doubt` returns why the text of a
    git configuration may name a program."""

    def __init__(self, upper: Callable[[str], str], doubt: Callable[[str], str]) -> None:
        self._upper = upper
        self._doubt = doubt
        self._new = dict[str, str]()

    def why_not(self, root: str, path: str, before: State | None, after: State | None) -> str:
        """Return why a change can't be applied, or ""."""
        parts = path.split("/")
        names = [folded(part) for part in parts]
        if names[0] in PROTECTED and names[0] != ".git":
            return "is protected"
        if ".git" in names:
            at = names.index(".git")
            return self._in_git(root, parts[: at + 1], parts[at + 1 :], before, after)
        return ""

    def _in_git(
        self, root: str, folder: list[str], within: list[str], before: State | None, after: State | None
    ) -> str:
        here = "/".join(folder)
        if not os.path.lexists(os.path.join(root, here)):
            return self._new_repository(root, here)
        if not within:
            return "" if before and after and before.what == after.what else "is a repository"
        if not is_data("/".join(within)):
            return "is a setting of the repository"
        if after and after.what not in ("file", "folder"):
            return f"is a {after.what} in a repository"
        return ""

    def _new_repository(self, root: str, path: str) -> str:
        if path not in self._new:
            full = os.path.join(self._upper(root), path)
            plain = is_git_folder(full) and is_plain(full, root, (), self._doubt)
            self._new[path] = "" if plain else "is a new repository that may start programs"
        return self._new[path]
