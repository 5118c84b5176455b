"""What a call is about, read from its raw input: the places it touches or the commands it runs."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from prunecli.agent.judging.harmless import Reading, Surroundings, read_line
from prunecli.agent.judging.places import Place, looks_secret, resolve
from prunecli.agent.judging.shell import Doubt, Line, parse
from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.tools.tool import Effect

_PATH_KEYS = ("path", "file_path", "paths", "directory")
_COMMAND_KEYS = frozenset({"command", "timeout", "description"})


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it is judged.

    `places` are what a reading or editing tool touches. For a command `text` is the line, `line` its commands (None
    where the parser doubts), `readings` what they read (empty unless harmless), `doubt` why it is not harmless.
    `malformed` says what the input lacks: then there is nothing to judge.
    """

    effect: Effect
    tool: str
    places: tuple[Place, ...] = ()
    text: str | None = None
    line: Line | None = None
    readings: tuple[Reading, ...] = ()
    doubt: str = ""
    malformed: str = ""

    @property
    def is_harmless(self) -> bool:
        """Whether it is a command that only reads what may be read."""
        return self.line is not None and not self.doubt

    @property
    def searched(self) -> tuple[Place, ...]:
        """The folders below which the call shows contents of files that it does not name."""
        if self.tool == "grep":
            return self.places
        return tuple(place for reading in self.readings if reading.sweeps for place in reading.places)


def read_call(effect: Effect, tool_name: str, given: Mapping[str, Json], around: Surroundings) -> Call:
    """The call as a value. Raises Unresolvable for a path that can't be followed."""
    if effect == "run":
        return _command_call(tool_name, given, around)
    if effect == "context":
        return Call(effect, tool_name)
    paths: list[str] = []
    for key in _PATH_KEYS:
        value = given.get(key)
        for path in value if isinstance(value, (list, tuple)) else () if value is None else (value,):
            if not isinstance(path, str):
                return Call(effect, tool_name, malformed=f"its {key} is not a text")
            paths.append(path)
    if not paths and effect == "edit":
        return Call(effect, tool_name, malformed="it does not say which file it changes")
    paths = paths or ["."]
    if effect == "read":
        paths += _chosen(tool_name, given, paths[0])
    places = tuple(resolve(well_formed(path), around.cwd, around.home) for path in paths)
    return Call(effect, tool_name, places)


def _command_call(tool_name: str, given: Mapping[str, Json], around: Surroundings) -> Call:
    if tool_name != "bash":
        return Call("run", tool_name, doubt="it can change anything")
    text = given.get("command")
    if not isinstance(text, str):
        return Call("run", tool_name, malformed="its command is not a text")
    line = None
    try:
        line = parse(text)
        if extra := sorted(set(given) - _COMMAND_KEYS):
            raise Doubt(f"the input {extra[0]!r}")
        return Call("run", tool_name, text=text, line=line, readings=read_line(line, around))
    except Doubt as doubt:
        return Call("run", tool_name, text=text, line=line, doubt=f"it has {doubt.reason}")


def _chosen(tool_name: str, given: Mapping[str, Json], folder: str) -> list[str]:
    """Where the pattern of a search leads out of its folder, or chooses files with secrets: as a path to judge.

    A pattern of find shows names only, so one that merely looks secret is none.
    """
    glob = given.get("pattern" if tool_name == "find" else "glob")
    if not isinstance(glob, str) or not glob:
        return []
    if tool_name != "find" and looks_secret(glob):
        return [os.path.join(folder, glob)]
    fixed = re.split(r"[*?\[{]", glob)[0]
    if glob.startswith(("/", "~")):
        return [fixed]
    return [os.path.join(folder, fixed)] if ".." in glob.split("/") else []
