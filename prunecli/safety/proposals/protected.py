"""What no layer may change: settings of repositories, and other agents' folders."""

import os
from collections.abc import Callable, Sequence

from prunecli.safety.proposals.states import State
from prunecli.safety.sandbox.git_folders import is_data, is_git_folder, is_plain
from prunecli.safety.sandbox.layout import PROTECTED
from prunecli.tools.files.secret_paths import folded

_WITHIN = ("modules", "worktrees")


class Rules:
    """The rules for the changes of one root. `upper` is the folder with its changes; `doubt` returns why the text of
    a git configuration may name a program."""

    def __init__(self, root: str, upper: str, doubt: Callable[[str], str]) -> None:
        self._root, self._upper, self._doubt = root, upper, doubt
        self._new = dict[str, str]()
        self._is_repository = is_git_folder(root)

    def why_not(self, path: str, before: State | None, after: State | None) -> str:
        """Return why a change can't be applied, or ""."""
        parts = path.split("/")
        names = [folded(part) for part in parts]
        if names[0] in PROTECTED and names[0] != ".git":
            return "is protected"
        if self._is_repository:
            return self._in_git([], parts, before, after)
        if ".git" in names:
            at = names.index(".git") + 1
            return self._in_git(parts[:at], parts[at:], before, after)
        for count in range(len(parts)):  # a repository without that name
            if folded(parts[count]) in ("head", "objects", "refs") and self._is_git(parts[:count]):
                return self._in_git(parts[:count], parts[count:], before, after)
        return ""

    def _is_git(self, parts: Sequence[str]) -> bool:
        return any(is_git_folder(os.path.join(top, *parts)) for top in (self._root, self._upper))

    def _in_git(
        self, folder: Sequence[str], within: Sequence[str], before: State | None, after: State | None
    ) -> str:
        if not os.path.lexists(os.path.join(self._root, *folder)):
            return self._new_repository("/".join(folder))
        if after and after.what not in ("file", "folder"):
            return f"is a {after.what} in a repository"
        if not within:
            is_same = before is not None and after is not None and before.what == after.what
            return "" if is_same else "is a repository"
        folder, within = self._innermost(list(folder), list(within))
        return "" if is_data("/".join(within)) else "is a setting of the repository"

    def _innermost(self, folder: list[str], within: list[str]) -> tuple[list[str], list[str]]:
        """Return the folder of the work tree or submodule that a path in a git folder lies in, and the rest."""
        if within[0] in _WITHIN:
            for count in range(len(within) - 1, 1, -1):
                inner = [*folder, *within[:count]]
                if os.path.lexists(os.path.join(self._root, *inner, "HEAD")):
                    return inner, within[count:]
        return folder, within

    def _new_repository(self, path: str) -> str:
        if path not in self._new:
            full = os.path.join(self._upper, path)
            plain = is_git_folder(full) and is_plain(full, self._root, (), self._doubt)
            self._new[path] = "" if plain else "is a new repository that may start programs"
        return self._new[path]
