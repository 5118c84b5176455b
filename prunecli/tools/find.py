"""find: find files by name, skipping ignored ones."""

import os
from collections.abc import Mapping
from typing import Annotated, ClassVar

from prunecli.errors import ToolError
from prunecli.frozen import frozen
from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.searching.names import shown_name
from prunecli.tools.searching.scope import folders_of, scope_of
from prunecli.tools.searching.search import MAX_SECONDS, glob_of, ignored_in, scan
from prunecli.tools.tool import ToolContext, ToolOutput, bounded, in_one_line, text_output

MAX_PATHS = 1000
_NOTES_BYTES = 200


@frozen
class FindInput:
    """The input of `find`."""

    pattern: Annotated[str, "glob, e.g. *.py or src/**/*.ts"]
    path: Annotated[str, "folder"] = "."


class Find:
    """The `find` tool. It searches in a separate process, so that a huge tree neither blocks the screen nor outlives
    the call."""

    name: ClassVar[str] = "find"
    description: ClassVar[str] = "Find files and folders by name, at most 1000. Skips ignored ones."
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = FindInput

    def summary(self, given: Mapping[str, Json]) -> str:
        """Return the pattern and the folder."""
        return " in ".join(in_one_line(given[key]) for key in ("pattern", "path") if given.get(key))

    def touches(self, given: FindInput) -> Touches:
        """Return the folder and those named in the pattern, as searched."""
        return Touches(searches=folders_of(given.path, given.pattern))

    async def run(self, given: FindInput, context: ToolContext) -> ToolOutput:
        """Run the search. Raises ToolError for a path that can't be searched, and for too many braces."""
        if not given.pattern.strip("/"):
            raise ToolError("pattern is empty.")
        scope = scope_of(given.path, context.cwd)
        if scope.only:
            raise ToolError(f"{well_formed(given.path)} is a file; path is the folder to search.")
        names = _Names()
        pattern = well_formed(given.pattern).removeprefix(scope.root.rstrip("/") + "/")
        glob_of(pattern)  # raises here, since the search process can't report it
        arguments = ["names", scope.root, pattern]
        ended = await scan(arguments, scope.root, context.env, names.take)
        paths = [shown_name(os.path.join(scope.prefix, name)) for name in names.kept]
        limit = context.limits.max_output_bytes
        nothing = "Nothing found before the search was stopped." if ended.timed_out else "Nothing found."
        text = bounded("\n".join(paths) or nothing, max(limit - _NOTES_BYTES, limit // 2))
        notes = list[str]()
        if not paths and not ended.timed_out and (ignored := await ignored_in(scope.root, context.env)):
            notes.append(ignored)
        if names.cut:
            notes.append(f"[the first {MAX_PATHS}; narrow pattern or path]")
        if ended.timed_out:
            notes.append(f"[stopped after {MAX_SECONDS:g} s; narrow pattern or path]")
        details: dict[str, Json] = {"paths": len(paths), "truncated": names.cut or ended.timed_out}
        return text_output("\n".join([text, *notes]), details)


class _Names:
    """A reader of paths, each followed by NUL, until there are enough."""

    def __init__(self) -> None:
        self.kept = list[str]()
        self.cut = False
        self._unread = b""

    def take(self, data: bytes) -> bool:
        """Process output of the search; return False once there are enough paths."""
        *paths, self._unread = (self._unread + data).split(b"\0")
        self.kept += map(os.fsdecode, paths)
        self.cut = len(self.kept) > MAX_PATHS
        del self.kept[MAX_PATHS:]
        return not self.cut
