"""read: return a page of a text file, an image, or a PDF."""

import codecs
import io
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from prunecli.model.codec import well_formed
from prunecli.model.messages import Block, Json, Text, plain_text
from prunecli.model.touches import Touches
from prunecli.tools.files.atomic_write import MAX_BYTES, digest_of
from prunecli.tools.files.decoding import SAMPLE, decoded, fitting_lines, is_text
from prunecli.tools.files.encoding import SHIFTED, UNKNOWN, UTF_8, encoding_of, is_binary
from prunecli.tools.files.image import media_type_of
from prunecli.tools.files.in_thread import in_thread
from prunecli.tools.files.media import MAX_SOURCE, as_tool_error, document_of, image_of, text_of_pdf
from prunecli.tools.files.reading import IsFolder, Page, kind_of, open_file, page_of
from prunecli.tools.files.workspace import absolute, refusal
from prunecli.tools.searching.names import names_in
from prunecli.tools.tool import TRUNCATION_MARKER, ToolContext, ToolOutput, in_one_line, text_output
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.tools.files import charset, notebook
else:
    charset, notebook = lazy("prunecli.tools.files.charset"), lazy("prunecli.tools.files.notebook")

DEFAULT_LINES = 2000
MAX_DECODED = 16 * 1024 * 1024
"""Maximum bytes of a file in another encoding than UTF-8."""
MAX_IMAGES = 10
"""Images of one notebook that are shown."""
_HINT_NAMES = 50
_IMAGE = re.compile(r"^\[image (\d{1,6}): ", re.MULTILINE)


@frozen
class ReadInput:
    path: str
    offset: Annotated[int | None, "first line, from 1"] = None
    limit: Annotated[int | None, "lines, default 2000"] = None


class Read:
    """The `read` tool. It returns exact text without line numbers, so that the model can quote it in an edit."""

    name: ClassVar[str] = "read"
    description: ClassVar[str] = (
        "Read a text file, in pages if long, an image (png, jpeg, gif, webp) or a PDF."
    )
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = ReadInput

    def summary(self, given: Mapping[str, Json]) -> str:
        path, offset, limit = in_one_line(given.get("path")), given.get("offset"), given.get("limit")
        if type(offset) is not int and type(limit) is not int:
            return path
        first = offset if type(offset) is int else 1
        return f"{path} {first}-{first + limit - 1}" if type(limit) is int else f"{path} {first}-"

    def touches(self, given: ReadInput) -> Touches:
        return Touches(reads=(given.path,))

    async def run(self, given: ReadInput, context: ToolContext) -> ToolOutput:
        first = 1 if given.offset is None else given.offset
        lines = DEFAULT_LINES if given.limit is None else given.limit
        if first < 1 or lines < 1:
            raise ToolError("offset and limit must be at least 1.")
        path = absolute(given.path, context.cwd)

        whole = given.offset is None and given.limit is None

        def work(stop: threading.Event) -> ToolOutput:
            try:
                with open_file(path) as file:
                    if (output := _media(file, path, context, whole=whole)) is not None:
                        return _lines_of(output, path, first, lines, context, stop)
                    if notebook.is_notebook_name(path) and (cells := _cells(file, path, context)):
                        return _notebook(cells, path, first, lines, context, stop)
                    return _shown(file, path, first, lines, context, stop)
            except IsFolder as error:
                raise ToolError(f"{error} {_holding(path)}") from error
            except OSError as error:
                raise refusal(error, path) from error

        return await in_thread(work)


def _holding(path: str) -> str:
    names, more = names_in(path, _HINT_NAMES)
    return f"It contains: {'  '.join(names)}{' …' if more else ''}" if names else "It is empty."


def _shown(
    file: io.FileIO, path: str, first: int, lines: int, context: ToolContext, stop: threading.Event
) -> ToolOutput:
    state = os.fstat(file.fileno())
    sample = file.read(SAMPLE) or b""
    file.seek(0)
    if is_binary(sample):
        raise ToolError(f"{well_formed(path)} is {kind_of(sample)} ({state.st_size:,} bytes), not text.")
    encoding = encoding_of(sample if b"\0" in sample else sample[:4])
    limit, size = context.limits.max_output_bytes, state.st_size
    if encoding.unit > 1 and size > MAX_DECODED:
        raise ToolError(f"{well_formed(path)} is {encoding.codec} and too large ({size:,} bytes).")
    page = page_of(file, first, lines, limit, stop, whole=size <= MAX_BYTES) if encoding.unit == 1 else None
    if page is not None and first == 1:
        page = replace(page, data=page.data.removeprefix(codecs.BOM_UTF8))
    note, real = "", os.path.realpath(path)
    if page is None or (size <= MAX_DECODED and (not is_text(page.data) or SHIFTED.search(page.data))):
        file.seek(0)
        data = file.read(MAX_DECODED)
        encoding = charset.charset_of(data, real, context.files_seen.confirmed.get(real, ""))
        if page is None or encoding not in (UTF_8, UNKNOWN):
            source = io.BytesIO(encoding.decode(data).encode())
            page = page_of(source, first, lines, limit, stop, whole=True)
            page = replace(page, digest=digest_of(data))
            note = f"[the file {'seems to be' if encoding.guessed else 'is'} {charset.name_of(encoding)}]"
    if page.digest is not None:
        context.files_seen.note((state.st_dev, state.st_ino), page.digest, real)
    return _page_output(page, path, size, limit, note)


def _media(file: io.FileIO, path: str, context: ToolContext, *, whole: bool) -> ToolOutput | None:
    """Return an image, or a PDF in a form that the model accepts (its text unless `whole`); None for other files."""
    state, sample = os.fstat(file.fileno()), file.read(SAMPLE) or b""
    file.seek(0)
    is_image = media_type_of(sample) is not None
    if not is_image and not sample.startswith(b"%PDF-"):
        return None
    what, name = "this image" if is_image else "this PDF", well_formed(path)
    if state.st_size > MAX_SOURCE:
        raise as_tool_error(name, what, ValueError(f"{state.st_size:,} bytes are too many"))
    data, details = file.read(), {"path": name, "bytes": state.st_size}
    block: Block | None
    try:
        if is_image:
            block = image = image_of(data, context.media)
            details |= {"width": image.width, "height": image.height}
        elif block := document_of(data, context.media) if whole else None:
            details |= {"pages": block.pages}
        text = "" if block else text_of_pdf(data)
    except ValueError as error:
        raise as_tool_error(name, what, error) from error
    context.files_seen.note((state.st_dev, state.st_ino), digest_of(data), os.path.realpath(path))
    return ToolOutput((block,), details=details) if block else text_output(text, details)


def _cells(file: io.FileIO, path: str, context: ToolContext) -> "list[notebook.Cell]":
    state = os.fstat(file.fileno())
    data = file.read() if state.st_size <= MAX_BYTES else b""
    file.seek(0)
    if cells := notebook.cells_of(data or b""):
        context.files_seen.note((state.st_dev, state.st_ino), digest_of(data), os.path.realpath(path))
    return cells


def _notebook(
    cells: "list[notebook.Cell]",
    path: str,
    first: int,
    lines: int,
    context: ToolContext,
    stop: threading.Event,
) -> ToolOutput:
    """Return lines of the cells' text, and the images of outputs that these lines name."""
    text, images = notebook.shown(cells)
    source, limit = text.encode("utf-8", "replace"), context.limits.max_output_bytes
    page = page_of(io.BytesIO(source), first, lines, limit, stop, whole=True)
    output = _page_output(page, path, len(source), limit)
    blocks: list[Block] = [Text(f"{plain_text(output.content).removesuffix(chr(10))}\n{notebook.HINT}")]
    named = [int(number) for number in _IMAGE.findall(decoded(page.data)) if 0 < int(number) <= len(images)]
    for number in dict.fromkeys(named[:MAX_IMAGES]):
        try:
            blocks += [image_of(images[number - 1], context.media)]
        except ValueError as error:
            blocks += [Text(f"[image {number} can't be shown: {error}]")]
    return replace(output, content=tuple(blocks))


def _lines_of(
    output: ToolOutput, path: str, first: int, lines: int, context: ToolContext, stop: threading.Event
) -> ToolOutput:
    """Return the requested lines of a PDF's text; images and documents have none."""
    if not (text := plain_text(output.content)):
        return output
    source, limit = text.encode("utf-8", "replace"), context.limits.max_output_bytes
    page = page_of(io.BytesIO(source), first, lines, limit, stop, whole=True)
    return _page_output(page, path, len(source), limit)


def _page_output(page: Page, path: str, size: int, limit: int, note: str = "") -> ToolOutput:
    """Return the page's text, with its line range unless it is the whole file."""
    shown = fitting_lines(page.data, limit - 200 if limit > 400 else limit // 2)
    cut = len(shown) < len(page.data)
    last = page.first - 1 + shown.count(b"\n") + (not shown.endswith(b"\n") and bool(shown))
    more = cut or page.total is None or last < page.total
    text, notes = decoded(shown), [note] if note else []
    if cut:
        text = text.removesuffix("\n") + TRUNCATION_MARKER
    if not is_text(shown):
        notes.append("[\ufffd stands for bytes that are not UTF-8]")
    if more or page.first > 1:
        total = f"; the file has {size:,} bytes" if page.total is None else f" of {page.total}"
        inside = cut and not shown.endswith(b"\n")
        onward = "the last line is too long to show in full" if inside else f"continue with offset={last + 1}"
        notes.append(
            f"[lines {page.first}-{last}{total}; {onward}]" if more else f"[lines {page.first}-{last}{total}]"
        )
    if text and not text.strip() and not notes:
        notes.append("[only white space]")
    if notes and text and not text.endswith("\n"):
        text += "\n"
    details: dict[str, Json] = {
        "path": well_formed(path),
        "first_line": page.first,
        "last_line": last,
        "lines": page.total,
        "truncated": cut,
    }
    result = text_output(text + "\n".join(notes) or "[empty file]", details)
    return result if is_text(shown) else replace(result, raw=shown)
