"""find: find files by name, skipping ignored ones."""

import os
import threading
from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar

from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.files.in_thread import in_thread
from prunecli.tools.searching.glob import PathGlob
from prunecli.tools.searching.names import shown_name
from prunecli.tools.searching.scope import folders_of, scope_of
from prunecli.tools.searching.search import MAX_SECONDS, Over, glob_of, ignored_in
from prunecli.tools.searching.walk import FOLDER, walk
from prunecli.tools.tool import ToolContext, ToolOutput, bounded, in_one_line, text_output
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

MAX_PATHS = 1000
_NOTES_BYTES = 200


@frozen
class FindInput:
    pattern: Annotated[str, "glob, e.g. *.py or src/**/*.ts"]
    path: Annotated[str, "folder"] = "."


class Find:
    name: ClassVar[str] = "find"
    description: ClassVar[str] = "Find files and folders by name, at most 1000. Skips ignored ones."
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = FindInput

    def summary(self, given: Mapping[str, Json]) -> str:
        return " in ".join(in_one_line(given[key]) for key in ("pattern", "path") if given.get(key))

    def touches(self, given: FindInput) -> Touches:
        return Touches(searches=folders_of(given.path, given.pattern))

    async def run(self, given: FindInput, context: ToolContext) -> ToolOutput:
        if not given.pattern.strip("/"):
            raise ToolError("pattern is empty.")
        scope = scope_of(given.path, context.cwd)
        if scope.only:
            raise ToolError(f"{well_formed(given.path)} is a file; path is the folder to search.")
        pattern = well_formed(given.pattern).removeprefix(scope.root.rstrip("/") + "/")
        names, timed_out = await in_thread(partial(_found, scope.root, pattern, glob_of(pattern)))
        cut = len(names) > MAX_PATHS
        paths = [shown_name(os.path.join(scope.prefix, name)) for name in names[:MAX_PATHS]]
        limit = context.limits.max_output_bytes
        nothing = "Nothing found before the search was stopped." if timed_out else "Nothing found."
        text = bounded("\n".join(paths) or nothing, max(limit - _NOTES_BYTES, limit // 2))
        notes = list[str]()
        if not paths and not timed_out and (ignored := await ignored_in(scope.root)):
            notes.append(ignored)
        if cut:
            notes.append(f"[the first {MAX_PATHS}; narrow pattern or path]")
        if timed_out:
            notes.append(f"[stopped after {MAX_SECONDS:g} s; narrow pattern or path]")
        details: dict[str, Json] = {"paths": len(paths), "truncated": cut or timed_out}
        return text_output("\n".join([text, *notes]), details)


def _found(root: str, pattern: str, wanted: PathGlob, stop: threading.Event) -> tuple[list[str], bool]:
    """Return the matching paths, one more than are shown if there are more, and whether the time was up."""
    found, over = list[str](), Over(stop)
    for path, kind in walk(root, over=over):
        if wanted.matches(path) and (kind == FOLDER or not pattern.endswith("/")):
            found.append(path + "/" if kind == FOLDER else path)
            if len(found) > MAX_PATHS:
                break
    return found, over.timed_out
