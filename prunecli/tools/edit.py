"""edit: replace text in a file; every other byte stays."""

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.files.atomic_write import Current, digest_of, locked, replace_content
from prunecli.tools.files.diff import change
from prunecli.tools.files.encoding import is_binary
from prunecli.tools.files.replacement import Replacement, check_notebook, replaced_in
from prunecli.tools.files.workspace import Place, check_inside, opened_place, seen_from
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line, text_output
from prunecli.util.errors import ToolError
from prunecli.util.figures import counted
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.tools.files import charset, notebook
else:
    charset, notebook = lazy("prunecli.tools.files.charset"), lazy("prunecli.tools.files.notebook")


@frozen
class EditInput:
    path: str
    old_string: str
    new_string: str
    replace_all: bool = False


class Edit:
    """The `edit` tool. It replaces exact matches in the file's bytes."""

    name: ClassVar[str] = "edit"
    description: ClassVar[str] = (
        "Replace old_string in a file by new_string. It must occur exactly once, white space included, "
        "unless replace_all is set."
    )
    parallel: ClassVar[bool] = False
    Input: ClassVar[type] = EditInput

    def summary(self, given: Mapping[str, Json]) -> str:
        return in_one_line(given.get("path"))

    def touches(self, given: EditInput) -> Touches:
        return Touches(reads=(given.path,), changes=(given.path,))

    def check(self, given: EditInput, context: ToolContext) -> None:
        check_inside(given.path, context.cwd, (context.workspace, *context.added))
        if context.approved:
            with (
                suppress(charset.UnconfirmedError),
                opened_place(given.path, context.cwd, context.workspace, context.added) as place,
                locked(place, threading.Event()) as current,
            ):
                _replacement(place, current, given, context)

    async def run(self, given: EditInput, context: ToolContext) -> ToolOutput:
        def work(stop: threading.Event) -> ToolOutput:
            with (
                opened_place(given.path, context.cwd, context.workspace, context.added) as place,
                locked(place, stop) as current,
            ):
                return _edited(place, current, given, context, stop)

        return await charset.in_thread_confirmed(work, context)


def _replacement(place: Place, current: Current, given: EditInput, context: ToolContext) -> Replacement:
    """Return the file's new content. Raises ToolError."""
    name = well_formed(seen_from(place.path, os.path.realpath(context.cwd)))
    if context.files_seen.state(current.identity, place.path, digest_of(current.data)) == "changed":
        raise ToolError(f"{name} has changed since you read it; read it again before you edit it.")
    if is_binary(current.data):
        raise ToolError(f"{name} is a binary file.")
    old, new = well_formed(given.old_string), well_formed(given.new_string)
    if notebook.is_notebook_name(place.path) and (
        by_cell := notebook.edited(current.data, old, new, everywhere=given.replace_all)
    ):
        return Replacement(*by_cell)
    encoding = charset.charset_of(current.data, place.path, context.files_seen.confirmed.get(place.path, ""))
    done = replaced_in(encoding, current.data, old, new, everywhere=given.replace_all)
    charset.check_writable(encoding, place.path, current.data, old, new)
    check_notebook(place.path, current.data, done.data)
    return done


def _edited(
    place: Place, current: Current, given: EditInput, context: ToolContext, stop: threading.Event
) -> ToolOutput:
    done = _replacement(place, current, given, context)
    identity = replace_content(place, current, done.data, stop)
    context.files_seen.note(identity, digest_of(done.data), place.path)
    encoding = charset.charset_of(current.data, place.path, context.files_seen.confirmed.get(place.path, ""))
    texts = encoding.decode(current.data), encoding.decode(done.data)
    if notebook.is_notebook_name(place.path):
        before, after = notebook.sources(current.data), notebook.sources(done.data)
        texts = (before, after) if before and after and before != after else texts
    made = change(*texts)
    places = counted(done.count, "place")
    name = well_formed(seen_from(place.path, os.path.realpath(context.cwd)))
    text = f"Edited {name}: {places}, first at line {made.first_line} (+{made.added} −{made.removed} lines)."
    return text_output(text, made.details(place.path))
