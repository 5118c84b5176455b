"""Decides which files a search skips, like git and ripgrep: by .gitignore at every level and .git/info/exclude.

The search for lines imports this module too, so it imports only fast modules.
"""

import os
import re
import stat

from prunecli.tools.searching.glob import regex_of

GIT = ".git"
MAX_BYTES = 1024 * 1024


class Rules:
    """The patterns of one ignore file, for paths relative to the file's folder."""

    __slots__ = ("_any_name", "_any_path", "_rules")

    def __init__(self, text: str) -> None:
        lines = (line.removesuffix("\r") for line in text.split("\n"))
        self._rules = [rule for line in lines if (rule := _rule(line)) is not None]
        self._any_name = _either([regex for regex, about_name, _, _ in self._rules if about_name])
        self._any_path = _either([regex for regex, about_name, _, _ in self._rules if not about_name])

    def verdict(self, path: str, name: str, is_folder: bool) -> bool | None:
        """Return whether a path is ignored, by the last matching rule; None if no rule matches."""
        if not self._any_name.fullmatch(name) and not self._any_path.fullmatch(path):
            return None
        for regex, about_name, folders_only, negated in reversed(self._rules):
            if (is_folder or not folders_only) and regex.fullmatch(name if about_name else path):
                return not negated
        return None


def _rule(line: str) -> tuple[re.Pattern[str], bool, bool, bool] | None:
    """Return (pattern, name only, folders only, negated) for a line; None for a blank line or a comment."""
    if line.startswith("#"):
        return None
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    negated = line.startswith("!")
    line = line[negated:]
    folders_only = line.endswith("/")
    line = line[:-1] if folders_only else line
    if not line or line == "\\":
        return None
    about_name = "/" not in line
    regex = re.compile(regex_of(line.removeprefix("/"), braces=False), re.DOTALL)
    return regex, about_name, folders_only, negated


def _either(patterns: list[re.Pattern[str]]) -> re.Pattern[str]:
    """Return one expression that matches if any pattern does, so that most paths need a single test."""
    return re.compile("|".join(f"(?:{pattern.pattern})" for pattern in patterns) or "(?!)", re.DOTALL)


class Level:
    """The rules of one folder: its .gitignore and, at the top of a repository, its exclude file."""

    __slots__ = ("_base", "exclude", "gitignore", "is_top")

    def __init__(self, folder: str, *, has_gitignore: bool = True, has_git: bool | None = None) -> None:
        self._base = len(folder.rstrip("/")) + 1
        self.is_top = os.path.exists(os.path.join(folder, GIT)) if has_git is None else has_git
        self.gitignore = _rules(os.path.join(folder, ".gitignore")) if has_gitignore else None
        self.exclude = _rules(_exclude_file(folder)) if self.is_top else None

    def relative(self, path: str) -> str:
        return path[self._base :]


def levels_at(folder: str) -> tuple[Level, ...]:
    """Return the levels that apply inside an absolute folder, nearest first, up to the repository's top."""
    levels = list[Level]()
    while True:
        levels.append(Level(folder))
        above = os.path.dirname(folder)
        if levels[-1].is_top or above == folder:
            return tuple(levels)
        folder = above


def is_ignored(levels: tuple[Level, ...], path: str, name: str, is_folder: bool) -> bool:
    """Return whether searches skip an absolute path, assuming its folder is not skipped."""
    for kind in ("gitignore", "exclude"):
        for level in levels:
            rules: Rules | None = getattr(level, kind)
            if rules is not None:
                verdict = rules.verdict(level.relative(path), name, is_folder)
                if verdict is not None:
                    return verdict
    return False


def _rules(path: str) -> Rules | None:
    text = _text(path)
    return Rules(text) if text and text.strip() else None


def _text(path: str) -> str | None:
    """Return the text of a small regular file; None for anything else, because a repository may contain a pipe
    instead."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return os.read(descriptor, MAX_BYTES).decode("utf-8-sig", "surrogateescape")
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _exclude_file(folder: str) -> str:
    """Return the exclude file of a repository; the .git of a worktree is a file that names the shared folder."""
    git = os.path.join(folder, GIT)
    pointer = _text(git) if os.path.isfile(git) else None
    if pointer and pointer.startswith("gitdir: "):
        git = os.path.join(folder, pointer.removeprefix("gitdir: ").strip())
        git = os.path.join(git, (_text(os.path.join(git, "commondir")) or "").strip())
    return os.path.join(git, "info", "exclude")
