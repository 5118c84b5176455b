"""Where the command of the status line comes from: the user's configuration, or Claude Code's settings."""

import json
import os
from pathlib import Path

from prunecli.model.messages import Json
from prunecli.safety.project_settings import down_to, leads_outside
from prunecli.safety.scripts import scripts_of
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular

USER_FILE = ".claude/settings.json"
PROJECT_FILES = (".claude/settings.local.json", ".claude/settings.json")
MAX_BYTES = 1_000_000


@frozen
class Source:
    """A command and its place. `owner` is the directory that an approval applies to, None if it needs none, and
    `definition` what the approval covers: the command, and the contents of the project's scripts in it."""

    command: str
    label: str
    folder: Path
    owner: Path | None = None

    @property
    def definition(self) -> Json:
        return {"statusLine": self.command, "scripts": dict(scripts_of((self.command,), self.folder))}


def source_of(command: str, cwd: Path, home: Path) -> Source | None:
    """Return the configured command; without one, that of the nearest settings of Claude Code; None without any."""
    if command:
        return Source(command, "config.toml", cwd)
    for folder in reversed(down_to(cwd)):
        for path in (folder / name for name in PROJECT_FILES):
            if path != home / USER_FILE and not leads_outside(path, cwd) and (found := _command(path)):
                return Source(found, os.path.relpath(path, cwd), folder, folder)
    if found := _command(home / USER_FILE):
        return Source(found, f"~/{USER_FILE}", cwd, home)
    return None


def _command(path: Path) -> str:
    """Return the command of a settings file; "" without one. What is malformed is named by the hooks' reader."""
    try:
        with open_regular(path) as file:
            value = json.loads(file.read(MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return ""
    line = value.get("statusLine") if isinstance(value, dict) else None
    given = line.get("command") if isinstance(line, dict) and line.get("type") == "command" else None
    return given if isinstance(given, str) and "\0" not in given else ""
