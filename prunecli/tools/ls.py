"""ls: list one folder."""

import os
import threading
from collections.abc import Mapping
from typing import Annotated, ClassVar

from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.files.in_thread import in_thread
from prunecli.tools.files.workspace import refusal
from prunecli.tools.searching.gitignore import GIT, is_ignored, levels_at
from prunecli.tools.searching.names import ignored_note, names_in
from prunecli.tools.searching.scope import scope_of
from prunecli.tools.tool import ToolContext, ToolOutput, bounded, in_one_line, text_output
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

MAX_NAMES = 500
_NOTES_BYTES = 300


@frozen
class LsInput:
    path: Annotated[str, "folder"] = "."


class Ls:
    """The `ls` tool. It lists names only; bash shows sizes and dates."""

    name: ClassVar[str] = "ls"
    description: ClassVar[str] = "List a folder: sorted, folders with a slash, ignored entries left out."
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = LsInput

    def summary(self, given: Mapping[str, Json]) -> str:
        return in_one_line(given.get("path") or ".")

    def touches(self, given: LsInput) -> Touches:
        return Touches(searches=(given.path,))

    async def run(self, given: LsInput, context: ToolContext) -> ToolOutput:
        scope = scope_of(given.path, context.cwd)
        if scope.only:
            raise ToolError(f"{well_formed(given.path)} is a file, not a folder.")

        def work(stop: threading.Event) -> ToolOutput:
            try:
                return _listing(scope.root, context.limits.max_output_bytes, stop)
            except OSError as error:
                raise refusal(error, given.path) from error

        return await in_thread(work)


def _listing(root: str, limit: int, stop: threading.Event) -> ToolOutput:
    levels, ignored = levels_at(root), list[str]()

    def left_out(name: str, is_folder: bool) -> bool:
        if stop.is_set():
            raise ToolError("interrupted")
        if name == GIT:
            return True
        if is_ignored(levels, os.path.join(root, name), name, is_folder):
            ignored.append(name + ("/" if is_folder else ""))
            return True
        return False

    names, more = names_in(root, MAX_NAMES, left_out)
    text = bounded("\n".join(names), max(limit - _NOTES_BYTES, limit // 2))
    notes = list[str]()
    if more:
        notes.append(f"[{more} more; use find]")
    if ignored:
        notes.append(ignored_note(ignored))
    if not names and not ignored:
        text = "[empty folder]"
    details: dict[str, Json] = {"names": len(names), "ignored": len(ignored), "truncated": more > 0}
    return text_output("\n".join([*filter(None, [text]), *notes]), details)
