"""apply_patch: the tool with which OpenAI's models are trained to change files, beside edit and write.

Permissions, diffs, the stale-file check and the journal of reads are those of edit and write.
"""

import os
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Annotated, ClassVar

from prunecli.features.openai.patch import FilePatch, Hunk, parsed, patched
from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.files import notebook
from prunecli.tools.files.atomic_write import Current, create_file, digest_of, locked, replace_content
from prunecli.tools.files.charset import charset_of, charset_of_new, check_writable, in_thread_confirmed
from prunecli.tools.files.diff import Change, change
from prunecli.tools.files.encoding import is_binary
from prunecli.tools.files.notebook import is_notebook_name
from prunecli.tools.files.replacement import check_notebook
from prunecli.tools.files.workspace import Place, check_inside, opened_place, refusal, seen_from
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line, text_output
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen


@frozen
class ApplyPatchInput:
    input: Annotated[str, "The whole patch, from *** Begin Patch to *** End Patch."]


class ApplyPatch:
    """The `apply_patch` tool. All files are checked before the first one changes."""

    name: ClassVar[str] = "apply_patch"
    description: ClassVar[str] = (
        "Change files with a patch: *** Begin Patch, then for each file *** Add File: PATH (each line with +), "
        "*** Delete File: PATH, or *** Update File: PATH (optionally *** Move to: PATH) with hunks that begin with "
        "@@ and have lines with space, - or +; then *** End Patch. Paths are relative."
    )
    parallel: ClassVar[bool] = False
    Input: ClassVar[type] = ApplyPatchInput

    def summary(self, given: Mapping[str, Json]) -> str:
        heads = re.findall(r"(?m)^\*\*\* (?:Add|Delete|Update) File: (.*)$", str(given.get("input")))
        return in_one_line(", ".join(heads))

    def touches(self, given: ApplyPatchInput) -> Touches:
        try:
            files = parsed(given.input)
        except ToolError:
            return Touches()  # the call says what is wrong
        changed = tuple(path for one in files for path in one.paths)
        return Touches(reads=tuple(one.path for one in files if one.kind != "add"), changes=changed)

    def check(self, given: ApplyPatchInput, context: ToolContext) -> None:
        for one in parsed(given.input):
            for path in one.paths:
                check_inside(path, context.cwd, (context.workspace, *context.added))

    async def run(self, given: ApplyPatchInput, context: ToolContext) -> ToolOutput:
        # Folders are made last, so that a patch that does not fit leaves none behind.
        files = sorted(parsed(given.input), key=lambda one: one.kind == "add" or bool(one.move))

        def work(stop: threading.Event) -> ToolOutput:
            with ExitStack() as held:
                planned = [_Planned(one, context, held, stop) for one in files]
                changes = [(one.told, one.path, one.applied(stop)) for one in planned]
            return _output(changes)

        return await in_thread_confirmed(work, context)


class _Planned:
    """One file of a patch: opened, locked and computed; nothing is changed yet."""

    def __init__(
        self, patch: FilePatch, context: ToolContext, held: ExitStack, stop: threading.Event
    ) -> None:
        self._patch, self._context = patch, context
        self._place = self._opened(patch.path, held, create=patch.kind == "add")
        self._target = self._opened(patch.move, held, create=True) if patch.move else self._place
        self.path = self._target.path
        name = well_formed(seen_from(self._place.path, os.path.realpath(context.cwd)))
        self.told = {"add": f"A {name}", "delete": f"D {name}", "update": f"M {name}"}[patch.kind]
        for place in {id(one): one for one in (self._place, self._target)}.values():
            if (patch.kind == "add" or place is not self._place) and place.stat() is not None:
                raise ToolError(f"{well_formed(place.path)} exists; update it instead.")
        self._current: Current | None = None
        self._old, self._new, self._data = "", patch.content, b""
        if patch.kind == "add":
            self._data = charset_of_new(self._new, self.path).encode(self._new)
        else:
            self._current = held.enter_context(locked(self._place, stop))
            self._read(name)

    def _opened(self, path: str, held: ExitStack, *, create: bool) -> Place:
        here = self._context
        return held.enter_context(opened_place(path, here.cwd, here.workspace, here.added, create=create))

    def _read(self, name: str) -> None:
        current = self._current
        if current is None:
            return
        seen = self._context.files_seen.state(current.identity, self._place.path, digest_of(current.data))
        if seen == "changed":
            raise ToolError(f"{name} has changed since you read it; read it again before you patch it.")
        if self._patch.kind == "delete":
            return
        if is_binary(current.data):
            raise ToolError(f"{name} is a binary file.")
        if is_notebook_name(self._place.path) and (by_cell := _by_cell(current.data, self._patch.hunks)):
            self._old, self._new = notebook.sources(current.data), notebook.sources(by_cell)
            self._data = by_cell
            return
        path = self._place.path
        encoding = charset_of(current.data, path, self._context.files_seen.confirmed.get(path, ""))
        self._old = encoding.decode(current.data)
        self._new = patched(self._old, self._patch.hunks, name)
        self._data = encoding.mark + encoding.encode(self._new.removeprefix("\ufeff"))
        check_writable(encoding, path, current.data, self._old, self._new)
        check_notebook(self._target.path, current.data, self._data)

    def applied(self, stop: threading.Event) -> Change:
        """Change the file. Raises ToolError."""
        if self._patch.kind == "delete":
            self._remove()
            return change("", "")
        if self._current is None or self._target is not self._place:
            identity = create_file(self._target, self._data, stop)
            if self._current is not None:
                self._remove()
        elif self._data == self._current.data:
            identity = self._current.identity
        else:
            identity = replace_content(self._place, self._current, self._data, stop)
        self._context.files_seen.note(identity, digest_of(self._data), self._target.path)
        return change(self._old, self._new)

    def _remove(self) -> None:
        try:
            os.unlink(self._place.name, dir_fd=self._place.folder)
        except OSError as error:
            raise refusal(error, self._place.path) from error


def _by_cell(data: bytes, hunks: Sequence[Hunk]) -> bytes | None:
    """Apply hunks to the cells of a notebook; return None if no cell has the lines of one."""
    for hunk in hunks:
        made = notebook.edited(data, "\n".join(hunk.old), "\n".join(hunk.new), everywhere=False)
        if made is None or not hunk.old:
            return None
        data, _ = made
    return data


def _output(changes: Sequence[tuple[str, str, Change]]) -> ToolOutput:
    lines = [f"{told} (+{made.added} −{made.removed} lines)" for told, _, made in changes]
    details = changes[0][2].details(changes[0][1])
    if len(changes) > 1:
        details["path"] = ", ".join(well_formed(path) for _, path, _ in changes)
        details["added"] = sum(made.added for *_, made in changes)
        details["removed"] = sum(made.removed for *_, made in changes)
        details["diff"] = "".join(f"{told[2:]}\n{well_formed(made.diff)}" for told, _, made in changes)
    return text_output("Done.\n" + "\n".join(lines), details)
