"""Instruction files: the user's and the project's AGENTS.md or CLAUDE.md, the files that they import, a project's
CLAUDE.local.md, and the rules in `.claude/rules`.

A line may import files as `@docs/style.md` or `@"with spaces.md"`, relative to its file, by the rules of Claude Code:
not in code, at most five levels deep, and only from the project or the user's folders. An import that fails is left
as text, and named in `Instructions.missed`.
"""

import codecs
import os
import re
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prunecli.safety.project_settings import down_to, leads_outside
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy
from prunecli.util.regular import open_regular

if TYPE_CHECKING:
    from prunecli.agent import front_matter
    from prunecli.tools.files import secret_paths
    from prunecli.tools.searching import glob
else:
    front_matter = lazy("prunecli.agent.front_matter")
    glob = lazy("prunecli.tools.searching.glob")
    secret_paths = lazy("prunecli.tools.files.secret_paths")

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
"""The first of these that exists in a folder is loaded."""
LOCAL_FILE = "CLAUDE.local.md"
"""A folder's file for one person, who keeps it out of the repository."""
RULES = ".claude/rules"
_MAX_RULES = 200
_PLACES = ("", ".prunecli", ".claude")
"""The folders of a project's folder with an instruction file each."""

MAX_CHARS = 40_000
"""Maximum characters of one file, and of all files that it imports together."""
_MAX_READ = 4_000_000
_MAX_DEPTH = 5
_MAX_IMPORTS = 30
_LIMITS = f"imports end at {_MAX_DEPTH} levels, {_MAX_IMPORTS} files or {MAX_CHARS:,} characters"
_MAX_MISSED = 20
_CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)|(?P<ticks>`+).+?(?P=ticks)", re.MULTILINE | re.DOTALL
)
_IMPORT = re.compile(r"""(?:^|(?<=\s))@(?:"([^"\n]+)"|((?:\\ |[^\s@"])(?:\\ |[^\s@])*))""", re.MULTILINE)
_FILE = re.compile(r".*/.*\.\w{1,8}|.*\.(?:md|mdc|txt)")
"""Names that are meant as files even if there is none, unlike `@property`, `@pytest.fixture` or `@types/node`."""


class Rule(NamedTuple):
    """A file of `.claude/rules`. With globs, it is only for files that match one, and given once such a file is used.
    Their paths are relative to the folder with the `.claude`, for the user's rules to the project's root."""

    path: Path
    globs: "tuple[glob.PathGlob, ...]"
    text: str


@frozen
class Instructions:
    """The sources of instruction files: the working directory, the user's folders, and whether the project is
    trusted.

    `user` is the user's folder with instructions. Files there and in `~/.claude` may also be imported. `missed` gets
    a line for each file that was found or imported but not read.
    """

    cwd: Path
    user: Path
    home: Path
    trusted: bool
    missed: list[str] = field(default_factory=list)

    def at_start(self) -> list[tuple[Path, str]]:
        """Return the user's own files, then those from the repository's root down to the working directory."""
        found = [one for folder in self._users for one in self._first(folder)]
        found += self._ruled(self.home)
        for folder in down_to(self.cwd) if self.trusted else ():
            found += self.of(folder)
        once: dict[str, tuple[Path, str]] = {}
        for path, text in found:
            once.setdefault(os.path.realpath(path), (path, text))
        return list(once.values())

    def of(self, folder: Path) -> list[tuple[Path, str]]:
        """Return the instruction files of a project's folder, each followed by its imports."""
        found = [one for place in _PLACES for one in self._first(folder / place)]
        return [*found, *self._ruled(folder), *self._first(folder, (LOCAL_FILE,))]

    def rules(self, folder: Path) -> Iterator[Rule]:
        """Yield the rules of a folder of the project, or of the user's home folder."""
        try:
            paths = sorted((folder / RULES).rglob("*.md"))
        except OSError:  # a closed folder, which is named for its CLAUDE.md
            return
        for number, path in enumerate(paths):
            if number == _MAX_RULES:
                self._miss(f"{folder / RULES}: only the first {_MAX_RULES} files were read.")
                return
            if rule := self.rule(path, is_user=folder == self.home):
                yield rule

    def rule(self, path: Path, *, is_user: bool) -> Rule | None:
        try:
            if not is_user and leads_outside(path, self.cwd):
                raise ValueError("it is a link out of the project")
            page = front_matter.parse(_text(path), path)
            paths = page.fields.get("paths")
            # Commas separate globs, but not within the braces of one.
            listed = re.split(r",(?![^{]*\})", paths) if isinstance(paths, str) else paths
            words = [str(one).strip() for one in listed] if isinstance(listed, list) else []
            return Rule(path, tuple(glob.PathGlob(word) for word in words if word), page.body)
        except ConfigError as error:
            self._miss(f"{error.message}; it was not read.")
        except (OSError, ValueError) as error:
            self._miss(f"{path} was not read: {_why(error).rstrip('.')}.")
        return None

    def with_imports(self, path: Path, text: str) -> list[tuple[Path, str]]:
        return [(path, text), *self._imported(path, text)] if text else []

    def _ruled(self, folder: Path) -> list[tuple[Path, str]]:
        rules = (rule for rule in self.rules(folder) if not rule.globs)
        return [one for rule in rules for one in self.with_imports(rule.path, rule.text)]

    @property
    def _users(self) -> tuple[Path, Path]:
        return self.user, self.home / ".claude"

    def _first(self, folder: Path, names: tuple[str, ...] = INSTRUCTION_FILES) -> list[tuple[Path, str]]:
        for name in names:
            path = folder / name
            if folder not in self._users and leads_outside(path, self.cwd):
                continue  # `refused_links` tells the user
            try:
                text = _text(path)
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                self._miss(f"{path} was not read: {_why(error)}.")
                continue
            if text:
                return self.with_imports(path, text)
        return []

    def _imported(self, path: Path, text: str) -> list[tuple[Path, str]]:
        found: list[tuple[Path, str]] = []
        seen, room, ahead = {os.path.realpath(path)}, MAX_CHARS, [(path, text, 1)]
        while ahead:
            importer, text, depth = ahead.pop(0)
            for name, target in _targets(importer, text, self.home):
                if (real := os.path.realpath(target)) in seen:
                    continue
                seen.add(real)
                try:
                    self._check(target, real)
                    if depth > _MAX_DEPTH or len(found) >= _MAX_IMPORTS or room <= 0:
                        raise ValueError(_LIMITS)
                    read = _text(target, room)
                except (OSError, ValueError) as error:
                    if os.path.isfile(target) or (_FILE.fullmatch(name) and not os.path.isdir(target)):
                        self._miss(f"{importer}: @{name} was not imported: {_why(error)}.")
                    continue
                if read:
                    room -= len(read)
                    found.append((target, read))
                    ahead.append((target, read, depth + 1))
        return found

    def _check(self, target: Path, real: str) -> None:
        """Raise ValueError for a file that is neither of the project nor Markdown of the user."""

        if secret_paths.looks_secret(real) or secret_paths.looks_secret(str(target)):
            raise ValueError("it may contain secrets")
        outside = leads_outside(target, self.cwd)
        if self.trusted and not outside:
            return
        folders = map(os.path.realpath, self._users)
        if not real.endswith(".md") or not any(real.startswith(f"{folder}/") for folder in folders):
            raise ValueError("it is outside the project" if outside else "the project is not trusted")

    def _miss(self, line: str) -> None:
        if len(self.missed) < _MAX_MISSED:
            self.missed.append(line)


def has_instructions(folder: Path) -> bool:
    names = [f"{place}/{name}" for place in _PLACES for name in INSTRUCTION_FILES]
    return any(os.path.lexists(f"{folder}/{name}") for name in (*names, LOCAL_FILE, RULES))


def _targets(importer: Path, text: str, home: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files that the text names after an `@` outside of code, as written and as paths."""
    if "@" not in text:
        return
    for found in _IMPORT.finditer(_CODE.sub(" ", text)):
        name = found[1] or found[2].rstrip(".,;:!?)]}\"'").replace("\\ ", " ")
        if name and "\0" not in name:
            target = home / name[2:] if name.startswith("~/") else importer.parent / name
            yield name, Path(os.path.normpath(target))


def _text(path: Path, most: int = MAX_CHARS) -> str:
    """Return a file's text, cut to `most` characters. Raises OSError, and ValueError for a file that is not text."""
    with open_regular(path) as file:
        data = file.read(_MAX_READ)
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = data.decode("utf-16" if wide else "utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        raise ValueError("it is not text")
    if len(text) > most:
        text = text[:most] + f"\n[cut: {path.name} has {len(text):,} characters]"
    return text.strip()


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "it does not exist"
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
