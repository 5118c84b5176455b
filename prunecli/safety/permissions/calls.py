"""The parts of a call to judge, from the files and commands that its tool declares."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

from prunecli.model.codec import well_formed
from prunecli.model.shell import Doubt, Line
from prunecli.model.shell_script import parse_script
from prunecli.model.touches import Touches
from prunecli.safety.permissions.harm import of_text
from prunecli.safety.permissions.harmless import read_line
from prunecli.safety.permissions.places import Place, resolve
from prunecli.safety.permissions.scope import CommandScope, Reading
from prunecli.util.frozen import frozen

Effect = Literal["read", "edit", "run", "fetch", "context", "unknown"]
"""The effect of a part: read or change files, run a command, send a request to a web host, change only the working
context, or anything."""
REMOTE = "runs outside the sandbox"
NEW_HOST = "sends a request to {}"


@frozen
class Call:
    """One part of a call: all its reads, all its changes, or one command.

    `places` are the paths it reads or changes, `searched` the folders it searches for contents. For a command, `text`
    is the line, `line` its parsed commands (None if the parser is unsure), and `readings` are the reads (empty unless
    harmless). `doubt` is the reason why it is not harmless, and `outside` its reason for leaving the sandbox. For a
    call to a server's tool, `target` is `server:tool`; for a request, `host` is its host.
    """

    effect: Effect
    tool: str
    places: tuple[Place, ...] = ()
    searched: tuple[Place, ...] = ()
    text: str | None = None
    line: Line | None = None
    readings: tuple[Reading, ...] = ()
    doubt: str = ""
    outside: str | None = None
    target: str = ""
    host: str = ""

    @property
    def is_harmless(self) -> bool:
        """Whether the part is a command that only reads, from places that need no approval."""
        return self.line is not None and not self.doubt

    @property
    def may_change_files(self) -> bool:
        return self.effect in ("edit", "unknown") or (self.effect == "run" and not self.is_harmless)


def parts_of(
    tool_name: str, touches: Touches | None, around: CommandScope, not_read: tuple[str, ...] = ()
) -> tuple[Call, ...]:
    """Return the parts of a call, at least one. Raises Unresolvable for a path that cannot be resolved.

    A command is not harmless if its call has inputs that the tool does not know (`not_read`), such as a directory.
    """
    if touches is None:
        return (Call("unknown", tool_name, doubt="can change anything"),)
    outside = touches.outside[0] if touches.outside else None
    parts = [replace(_command(tool_name, text, around, not_read), outside=outside) for text in touches.runs]
    if touches.changes:
        parts.append(Call("edit", tool_name, _places(touches.changes, around)))
    read = tuple(path for path in touches.reads if path not in touches.changes)
    if read or touches.searches:
        searched = _places(touches.searches, around)
        places = tuple(dict.fromkeys((*searched, *_places(read, around))))
        parts.append(Call("read", tool_name, places, searched if read else ()))
    parts += [Call("unknown", tool_name, doubt=REMOTE, target=well_formed(call)) for call in touches.calls]
    hosts = map(well_formed, touches.fetches)
    parts += [Call("fetch", tool_name, doubt=NEW_HOST.format(host), host=host) for host in hosts]
    return tuple(parts) or (Call("context", tool_name),)


def rough_words(text: str, home: Path) -> list[str]:
    """Return the likely words of an unparsable line: home expanded, quotes and escapes removed."""
    text = re.sub(r"\$HOME\b|\$\{HOME\}|(?<![^\s=:'\"])~(?=/)", lambda _: str(home), text)
    return re.split(r"[\s|&;<>()`$]+", re.sub(r"""\\\n|['"\\]""", "", text))


def _places(paths: tuple[str, ...], around: CommandScope) -> tuple[Place, ...]:
    return tuple(resolve(well_formed(path), around.cwd, around.home) for path in paths)


def _command(tool_name: str, text: str, around: CommandScope, not_read: tuple[str, ...]) -> Call:
    line = None
    try:
        line = parse_script(text)
        if not_read:
            raise Doubt(f"it has the unknown input {not_read[0]!r}")
        readings = read_line(line, around)
        return Call("run", tool_name, text=text, line=line, readings=readings)
    except Doubt as doubt:
        reason = doubt.reason if line else of_text(text, doubt.reason, rough_words(text, around.home), around)
        return Call("run", tool_name, text=text, line=line, doubt=reason)
