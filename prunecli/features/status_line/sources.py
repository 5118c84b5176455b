"""Where the command of the status line comes from: the user's configuration, or Claude Code's settings."""

from pathlib import Path

from prunecli.model.messages import Json
from prunecli.runtime.claude_settings import claude_settings
from prunecli.safety.scripts import scripts_of
from prunecli.util.frozen import frozen
from prunecli.util.programs import can_be_passed


@frozen
class Source:
    """A command and its place. `owner` is the directory that an approval applies to, None if it needs none, and
    `definition` what the approval covers: the command, and the contents of the project's scripts in it. `seconds`:
    how often to run it even if nothing has changed, 0 for never."""

    command: str
    label: str
    folder: Path
    owner: Path | None = None
    seconds: float = 0

    @property
    def definition(self) -> Json:
        return {"statusLine": self.command, "scripts": dict(scripts_of((self.command,), self.folder))}


def source_of(command: str, cwd: Path, home: Path) -> Source | None:
    """Return the configured command; without one, that of the nearest settings of Claude Code; None without any."""
    if command:
        return Source(command, "config.toml", cwd)
    for found in claude_settings("statusLine", cwd, home):
        line = found.value
        given = line.get("command") if isinstance(line, dict) and line.get("type") == "command" else None
        if isinstance(given, str) and given and can_be_passed(given):
            every = line.get("refreshInterval") if isinstance(line, dict) else None
            owner, seconds = found.folder or home, max(1, every) if isinstance(every, int | float) else 0
            return Source(given, found.label, found.folder or cwd, owner, seconds)
    return None
