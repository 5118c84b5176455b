"""write: create a file, or overwrite one whose current content the model has read."""

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from prunecli.model.codec import well_formed
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.files.atomic_write import Current, create_file, digest_of, locked, replace_content
from prunecli.tools.files.diff import change
from prunecli.tools.files.encoding import UTF_8, has_only_crlf, is_binary, with_crlf
from prunecli.tools.files.replacement import check_notebook
from prunecli.tools.files.workspace import Place, absolute, check_inside, opened_place, seen_from
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line, text_output
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.tools.files import charset
else:
    charset = lazy("prunecli.tools.files.charset")


@frozen
class WriteInput:
    path: str
    content: str


class Write:
    """The `write` tool. It never overwrites content that the model has not read."""

    name: ClassVar[str] = "write"
    description: ClassVar[str] = (
        "Write a file whole, making parent folders. An existing file must have been read first."
    )
    parallel: ClassVar[bool] = False
    Input: ClassVar[type] = WriteInput

    def summary(self, given: Mapping[str, Json]) -> str:
        return in_one_line(given.get("path"))

    def touches(self, given: WriteInput) -> Touches:
        return Touches(changes=(given.path,))

    def check(self, given: WriteInput, context: ToolContext) -> None:
        check_inside(given.path, context.cwd, (context.workspace, *context.added))
        if context.approved and os.path.exists(absolute(given.path, context.cwd)):
            with (
                opened_place(given.path, context.cwd, context.workspace, context.added) as place,
                locked(place, threading.Event()) as current,
            ):
                _check_seen(place, current, context)

    async def run(self, given: WriteInput, context: ToolContext) -> ToolOutput:
        content = well_formed(given.content)

        def work(stop: threading.Event) -> ToolOutput:
            with opened_place(
                given.path, context.cwd, context.workspace, context.added, create=True
            ) as place:
                if place.stat() is None:
                    return _created(place, content, context, stop)
                with locked(place, stop) as current:
                    return _overwritten(place, current, content, context, stop)

        return await charset.in_thread_confirmed(work, context)


def _created(place: Place, content: str, context: ToolContext, stop: threading.Event) -> ToolOutput:
    data = charset.charset_of_new(content, place.path).encode(content)
    check_notebook(place.path, b"", data)
    identity = create_file(place, data, stop)
    context.files_seen.note(identity, digest_of(data), place.path)
    made = change("", content)
    text = (
        f"Created {well_formed(seen_from(place.path, os.path.realpath(context.cwd)))} ({made.added} lines)."
    )
    return text_output(text, {**made.details(place.path), "created": True})


def _check_seen(place: Place, current: Current, context: ToolContext) -> str:
    """Return the displayed path of a file whose content the model has seen. Raises ToolError."""
    name = well_formed(seen_from(place.path, os.path.realpath(context.cwd)))
    state = context.files_seen.state(current.identity, place.path, digest_of(current.data))
    if state == "changed":
        raise ToolError(f"{name} has changed since you read it; read it again before you write it.")
    if state == "unseen" and current.data:
        raise ToolError(f"{name} exists and you have not read it; read it first, or use edit.")
    return name


def _overwritten(
    place: Place, current: Current, content: str, context: ToolContext, stop: threading.Event
) -> ToolOutput:
    name = _check_seen(place, current, context)
    if current.data.isascii():
        encoding = charset.charset_of_new(content, place.path)
    else:
        encoding = charset.charset_of(
            current.data, place.path, context.files_seen.confirmed.get(place.path, "")
        )
    if binary := is_binary(current.data):
        encoding = UTF_8
    old, note = "" if binary else encoding.decode(current.data), ""
    if has_only_crlf(old) and "\r" not in content and "\n" in content:
        content, note = with_crlf(content), " Its CRLF line ends were kept."
    data = encoding.mark + encoding.encode(content.removeprefix("\ufeff"))
    charset.check_writable(encoding, place.path, current.data, old, content)
    check_notebook(place.path, current.data, data)
    identity = current.identity
    if data != current.data:
        identity = replace_content(place, current, data, stop)
    context.files_seen.note(identity, digest_of(data), place.path)
    made = change(old, content)
    text = f"Wrote {name} (+{made.added} −{made.removed} lines).{note}"
    return text_output(text, made.details(place.path))
