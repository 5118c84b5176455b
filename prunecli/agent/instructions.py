"""Instruction files: the user's and the project's AGENTS.md or CLAUDE.md, and the files that they import.

A line may import files as `@docs/style.md`, relative to its file, by the rules of Claude Code: not in code, at most
five levels deep, and only from the project or the user's folders. An import that fails is left as text.
"""

import os
import re
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path

from prunecli.agent.project_settings import down_to, leads_outside
from prunecli.frozen import frozen
from prunecli.regular import open_regular

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
"""The first of these that exists in a folder is loaded."""

MAX_CHARS = 40_000
"""Maximum characters of one file, and of all files that it imports together."""
_MAX_READ = 4_000_000
_MAX_DEPTH = 5
_MAX_IMPORTS = 30
_CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)|(?P<ticks>`+).+?(?P=ticks)", re.MULTILINE | re.DOTALL
)
_IMPORT = re.compile(r"(?:^|(?<=\s))@([^\s@]+)")


@frozen
class Instructions:
    """The sources of instruction files: the working directory, the user's folders, and whether the project is
    trusted.

    `user` is the user's folder with instructions. Files there and in `~/.claude` may also be imported.
    """

    cwd: Path
    user: Path
    home: Path
    trusted: bool

    def at_start(self) -> list[tuple[Path, str]]:
        """Return the user's own files, then those from the repository's root down to the working directory."""
        folders = [self.user, *(down_to(self.cwd) if self.trusted else [])]
        return self._without_doubles(one for folder in folders for one in self.of(folder))

    def of(self, folder: Path) -> list[tuple[Path, str]]:
        """Return the instruction file of a folder followed by its imports; an empty list if there is none."""
        for name in INSTRUCTION_FILES:
            path = folder / name
            if folder != self.user and leads_outside(path, self.cwd):
                continue  # `refused_links` tells the user
            if (text := _read(path)) is not None:
                return [(path, text), *self._imported(path, text)]
        return []

    def _imported(self, path: Path, text: str) -> list[tuple[Path, str]]:
        found: list[tuple[Path, str]] = []
        seen, room, ahead = {os.path.realpath(path)}, MAX_CHARS, [(path, text, 1)]
        while ahead and len(found) < _MAX_IMPORTS and room > 0:
            importer, text, depth = ahead.pop(0)
            for target in _targets(importer, text, self.home):
                real = os.path.realpath(target)
                if real in seen or not self._may_import(target, real):
                    continue
                seen.add(real)
                read = _read(target, room)
                if read is None or len(found) >= _MAX_IMPORTS or room <= 0:
                    continue
                room -= len(read)
                found.append((target, read))
                if depth < _MAX_DEPTH:
                    ahead.append((target, read, depth + 1))
        return found

    def _may_import(self, target: Path, real: str) -> bool:
        """Return whether a file may be imported: text of the project, or Markdown of the user."""
        from prunecli.tools.files.secret_paths import looks_secret  # deferred, since startup does not need it

        if looks_secret(real) or looks_secret(str(target)):
            return False
        if self.trusted and not leads_outside(target, self.cwd):
            return True
        folders = map(os.path.realpath, (self.user, self.home / ".claude"))
        return real.endswith(".md") and any(real.startswith(f"{folder}/") for folder in folders)

    @staticmethod
    def _without_doubles(found: Iterator[tuple[Path, str]]) -> list[tuple[Path, str]]:
        return list(dict(found).items())


def _targets(importer: Path, text: str, home: Path) -> Iterator[Path]:
    """Yield the files that the text names after an `@` outside of code."""
    if "@" not in text:
        return
    for found in _IMPORT.finditer(_CODE.sub(" ", text)):
        name = found[1].rstrip(".,;:!?)]}\"'")
        if name and "\0" not in name:
            target = home / name[2:] if name.startswith("~/") else importer.parent / name
            yield Path(os.path.normpath(target))


def _read(path: Path, most: int = MAX_CHARS) -> str | None:
    try:
        with open_regular(path) as file:
            text = TextIOWrapper(file, "utf-8", "replace").read(_MAX_READ)
    except (OSError, ValueError):
        return None
    if "\0" in text:
        return None
    if len(text) > most:
        text = text[:most] + f"\n[cut: {path.name} has {len(text):,} characters]"
    return text.strip() or None
