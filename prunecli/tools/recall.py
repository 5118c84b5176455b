"""recall: return the original text of an entry that was pruned or too long to send whole, by its number.

The text comes in pages and is an ordinary result: the prune stays in effect, and the result can be pruned again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Annotated, ClassVar

from prunecli.context.again import readable
from prunecli.context.pages import Count, Lines, head_end, nearest_end
from prunecli.model.messages import Block, Json, Text
from prunecli.model.touches import Touches
from prunecli.tools.tool import Pages, ToolContext, ToolOutput, in_one_line
from prunecli.util.errors import ToolError
from prunecli.util.figures import counted
from prunecli.util.frozen import frozen

_NOTE_BYTES = 200
_RAW = "raw"
_INPUT = "input"


@frozen
class RecallInput:
    entry: Annotated[int, "the number after 'recall'"]
    lines: Annotated[str | None, "such as 200-260; raw: the bytes before folding; input: of its calls"] = None


class Recall:
    """The `recall` tool. Thinking is not recalled."""

    name: ClassVar[str] = "recall"
    description: ClassVar[str] = (
        "Get back the original text of a pruned or shortened entry, in pages, by the number in its placeholder."
    )
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = RecallInput

    def summary(self, given: Mapping[str, Json]) -> str:
        lines = f" lines {in_one_line(given.get('lines'))}" if given.get("lines") else ""
        task = f"task {given['task']} " if given.get("task") else ""
        return f"{task}entry {given.get('entry', '')}{lines}"

    def touches(self, _: object) -> Touches:
        """Return no touches: a recall only reads the log."""
        return Touches()

    async def run(self, given: RecallInput, context: ToolContext) -> ToolOutput:
        if context.recall is None:
            raise ToolError("recall is not available here")
        original, lines = context.recall(given.entry), (given.lines or "").strip()
        of = next((one for one in (_INPUT, _RAW) if lines.startswith(one)), "")
        if of == _INPUT and not (original := context.inputs(given.entry)):
            raise ToolError(f"Entry {given.entry} has no call with a long input")
        if of == _RAW:
            if not (raw := context.raw(given.entry)):
                raise ToolError(f"Entry {given.entry} has no bytes besides its text")
            original = (Text(raw),)
        given = replace(given, lines=lines.removeprefix(of).strip() or None)
        content = await paged(original, given, context, f"lines {of}".strip())
        return ToolOutput(content, details={"recalled": given.entry})


async def paged(
    original: Sequence[Block], given: RecallInput, context: ToolContext, of: str
) -> tuple[Block, ...]:
    """Return the page of an original that a call asks for. `of` stands between the number of the entry and the lines
    in the name of the next page: `of task 3 lines`."""
    content = readable(original)
    if context.pages is None:
        return content
    return await asyncio.to_thread(_page, content, given, context.pages, context.limits.max_output_bytes, of)


def _page(
    content: tuple[Block, ...], given: RecallInput, pages: Pages, limit: int, of: str
) -> tuple[Block, ...]:
    """Return the requested lines, at most one page, and the name of the next page. Images are on the first page."""
    text = "\n".join(block.text for block in content if isinstance(block, Text))
    lines = Lines(text)
    try:
        start, stop = lines.part(given.lines) if given.lines else (0, len(text))
    except ValueError as error:
        raise ToolError(f"{error}. Entry {given.entry} has {counted(lines.count, 'line')}.") from error
    others = () if given.lines else tuple(block for block in content if not isinstance(block, Text))
    part = text[start:stop]
    size = head_end(part, pages.tokens, _weight(pages, limit), anywhere=True) or len(part)
    if size < len(part):
        size = min(nearest_end(text, start, start + size) - start, len(part))
    if size == len(text):
        return content
    if size < len(part):
        end = start + size
        part = part[:size] + ("" if part[:size].endswith("\n") else "\n")
        shown, following = lines.name(start, end), lines.name(end, stop)
        part += f"[lines {shown} of {lines.count:,} | next: recall {given.entry} {of} {following}]"
    return (*([Text(part)] if part else ()), *others)


def _weight(pages: Pages, limit: int) -> Count:
    """Return a token count for which a page has at most its tokens and also fits an output's limit in bytes."""
    most = max(1, limit - _NOTE_BYTES, limit // 2)

    def weight(text: str) -> int:
        return max(pages.count(text), ceil(len(text.encode("utf-8", "replace")) * pages.tokens / most))

    return weight
