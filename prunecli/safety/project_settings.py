"""The files of a project that take effect once its directory is trusted, and how they differ from those trusted.

They are in the directory and in the folders above it, up to the repository's root. A file that is a link to a place
outside the project is refused.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.util.lazy import lazy
from prunecli.util.private_file import write_private
from prunecli.util.regular import open_regular, read_regular
from prunecli.util.sanitize import visible

if TYPE_CHECKING:
    import difflib
else:
    difflib = lazy("difflib")

SETTINGS = (
    ".prunecli",
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".mcp.json",
    ".claude/AGENTS.md",
    ".claude/CLAUDE.md",
    ".claude/agents",
    ".claude/commands",
    ".claude/output-styles",
    ".claude/rules",
    ".claude/settings.json",
    ".claude/skills",
)
"""The parts of a directory that take effect once it is trusted: its settings, instructions, servers, subagents,
commands, hooks and skills. An approved server or hook is also bound to its definition (`approvals.py`)."""

_MAX_FILES = 200
_MAX_BYTES = 200_000
"""Maximum bytes of a file that is stored to show a difference later; a larger file is only named."""
_MAX_LINES = 40


def down_to(directory: Path) -> list[Path]:
    """Return the folders from the repository's root (the nearest with .git) down to the directory; only the directory
    itself if there is no repository."""
    chain = [directory, *directory.parents]
    root = next((index for index, folder in enumerate(chain) if os.path.lexists(folder / ".git")), 0)
    return chain[: root + 1][::-1]


def leads_outside(path: Path, directory: Path) -> str:
    """Return the target of a project's file if it is outside the project, else ""."""
    root = os.path.realpath(down_to(directory)[0])
    real = os.path.realpath(path)
    return "" if real == root or real.startswith(root.rstrip("/") + "/") else real


def is_empty_folder(path: Path | str) -> bool:
    """Return whether this is an empty folder, such as those that the sandbox mounts and a killed command leaves."""
    try:
        return not os.listdir(path)
    except OSError:
        return False


def has_settings(folder: Path, instead: Mapping[str, bytes | None]) -> bool:
    """Return whether a folder itself brings settings. `instead` maps the real path of a file to its bytes, None for
    no file."""
    for path in (folder / name for name in SETTINGS):
        if (real := os.path.realpath(path)) in instead:
            if instead[real] is not None:
                return True
        elif os.path.lexists(path) and not is_empty_folder(path):
            return True
    return False


def refused_links(directory: Path) -> list[str]:
    """Return a line for each settings file that is not read because it links out of the project."""
    found = []
    for folder in down_to(directory):
        for name in (*SETTINGS, ".prunecli/config.toml"):
            if os.path.lexists(folder / name) and (end := leads_outside(folder / name, directory)):
                found.append(f"{folder / name} is a link to {end}, outside the project, so it is not read.")
    return found


def texts(directory: Path) -> dict[str, str]:
    """Return the settings files that are small texts, by their paths from the directory."""
    found: dict[str, str] = {}
    for path in _files(directory):
        if len(found) >= _MAX_FILES:
            break
        with suppress(OSError):
            with open_regular(path) as file:
                data = file.read(_MAX_BYTES + 1)
            name = os.path.relpath(path, directory)
            long = f"sha256 {hashlib.sha256(data).hexdigest()} and more\n"
            found[name] = data.decode("utf-8", "replace") if len(data) <= _MAX_BYTES else long
    return found


def keep(folder: Path, directory: Path) -> None:
    """Store the current settings to show differences later. A failure only prevents that."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(_kept(folder, directory), json.dumps(texts(directory)).encode())


def changes(folder: Path, directory: Path) -> str:
    """Return the differences from the stored settings as text to show: the files, then their lines."""
    try:
        before = json.loads(read_regular(_kept(folder, directory)))
    except (OSError, ValueError, RecursionError):
        before = None
    now = texts(directory)
    if not isinstance(before, dict) or not all(isinstance(text, str) for text in before.values()):
        return "The earlier text is unknown. Now: " + ", ".join(sorted(now))
    return "\n".join(_differences(before, now)) or "Files that can't be shown as text changed."


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        yield visible(f"{name} was {'added' if old is None else 'removed' if new is None else 'changed'}:")
        lines = list(
            difflib.unified_diff((old or "").splitlines(), (new or "").splitlines(), lineterm="", n=1)
        )[2:]
        yield from (visible(line) for line in lines[:_MAX_LINES])
        if len(lines) > _MAX_LINES:
            yield f"… {len(lines) - _MAX_LINES} more lines"


def _kept(folder: Path, directory: Path) -> Path:
    return folder / f"{hashlib.sha256(os.fsencode(directory)).hexdigest()}.json"


def _files(directory: Path) -> Iterator[Path]:
    for folder in down_to(directory):
        for name in SETTINGS:
            path = folder / name
            if os.path.isdir(path):
                for inside, _, names in os.walk(path):
                    yield from (Path(inside, name) for name in sorted(names))
            elif os.path.lexists(path):
                yield path
