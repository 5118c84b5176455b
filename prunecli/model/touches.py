"""The touches of a call: the files that it reads and changes, the folders that it searches, the commands that it
runs, the tools of MCP servers that it calls, the hosts that it fetches from. A tool declares them for each call and
`ToolStarted` records them. Permissions, snapshots and strategies depend on touches, never on the names of tools or
arguments. `named` derives them for records without touches (older versions, imported sessions). It is the only code
that knows tools by name.
"""

from collections.abc import Mapping

from prunecli.model.messages import Json
from prunecli.util.frozen import frozen


@frozen
class Touches:
    """Paths as the call gives them, relative to the working directory, and whole command lines.

    `reads`: files whose content is shown; in a search, the searched path or a glob for files in it. `changes`: files
    that are created, changed or deleted; one that is also in `reads` keeps what the call does not replace.
    `searches`: folders whose names are shown and, if the call reads too, the contents of the files below. `runs`:
    commands for bash. `outside`: the reason for running them outside the sandbox, if any. `calls`: tools of MCP
    servers as `server:tool`, which may do anything. `fetches`: web hosts that the call sends a request to, in ASCII,
    with the port unless it is the default. A call without any of these changes only the working context.
    """

    reads: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether the call touches nothing outside the context."""
        return not (self.reads or self.changes or self.searches or self.runs or self.calls or self.fetches)

    @property
    def file(self) -> str:
        """The one file that the call reads or changes; "" for a search, a command, no file or several files."""
        files = {*self.reads, *self.changes}
        beside = self.searches or self.runs or self.calls or self.fetches
        return files.pop() if len(files) == 1 and not beside else ""

    def to_json(self) -> dict[str, Json]:
        """Return the object for a record, without empty fields."""
        return {name: list(paths) for name in self.__match_args__ if (paths := getattr(self, name))}


def named(name: str, given: Mapping[str, Json]) -> Touches | None:
    """Return the touches of a recorded call, by its tool's name in this program; None for any other name.

    Only for records without a declaration: a new tool declares its touches and has no entry here.
    """
    path = given.get("path")
    paths = (path,) if isinstance(path, str) and path else ()
    folder = paths or (".",)
    match name:
        case "read":
            return Touches(reads=paths)
        case "edit":
            return Touches(reads=paths, changes=paths)
        case "write":
            return Touches(changes=paths)
        case "ls" | "find":
            return Touches(searches=folder)
        case "grep":
            return Touches(reads=folder, searches=folder)
        case "bash":
            command = given.get("command")
            return Touches(runs=(command,)) if isinstance(command, str) else Touches()
        case "prun" | "prun_with_memo" | "recall" | "todo" | "jobs" | "ask":
            return Touches()
        case _:
            return None
