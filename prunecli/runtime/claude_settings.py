"""The settings that Claude Code keeps in JSON, of a project and of the user."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from prunecli.model.messages import Json
from prunecli.safety.project_settings import down_to, leads_outside
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular

USER_FILE = ".claude/settings.json"
_PROJECT_FILES = (".claude/settings.local.json", ".claude/settings.json")
_MAX_BYTES = 1_000_000


@frozen
class ClaudeSetting:
    """A value in a settings file; `folder` is that of the project, None for the user's own settings."""

    value: Json
    label: str
    folder: Path | None = None


def claude_settings(key: str, cwd: Path, home: Path, *, trusted: bool = True) -> Iterator[ClaudeSetting]:
    """Yield the values of a key, the nearest first; those of a project only if it is trusted.

    A malformed file is passed over, since the hooks' reader names it.
    """
    for folder in reversed(down_to(cwd)) if trusted else ():
        for path in (folder / name for name in _PROJECT_FILES):
            if path != home / USER_FILE and not leads_outside(path, cwd):
                label = os.path.relpath(path, cwd)
                yield from (ClaudeSetting(value, label, folder) for value in _values(path, key))
    yield from (ClaudeSetting(value, f"~/{USER_FILE}") for value in _values(home / USER_FILE, key))


def _values(path: Path, key: str) -> Iterator[Json]:
    try:
        with open_regular(path) as file:
            value = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return
    if isinstance(value, dict) and key in value:
        yield value[key]
