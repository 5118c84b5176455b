"""What is selected and what that says: points in the text of the session, independent of wrapping and folding.

A point is one number that grows downwards: the entry, the block in it, the character in the block. So a
selection survives scrolling, streaming, resizing and whatever is folded elsewhere.
"""

import re
from typing import NamedTuple

from prunecli.tui.transcript.document import Document
from prunecli.tui.transcript.items import Block
from prunecli.tui.transcript.rows import Row, clusters
from prunecli.tui.transcript.viewport import Line

_WORD = re.compile(r"[\w./~@:+#-]+|\s+|[^\w\s]+")


class Span(NamedTuple):
    """A range of text between two points, the end not in it."""

    start: int
    end: int


def row_span(block: Block, row: Row) -> Span:
    """The points of a row's text."""
    start = block.point + row.place
    return Span(start, start + len(row.body))


def point_at(line: Line, x: int) -> int:
    """The point of the character at a cell of a row; the row's end right of its text."""
    row = line.row
    text = row.text
    column, right = len(text), 0
    for start, _, cells in clusters(text):
        right += cells
        if right > x:
            column = start
            break
    return line.block.point + row.place + max(0, column - row.gutter)


def columns(block: Block, row: Row, span: Span) -> tuple[int, int] | None:
    """Which characters of a row's text, its gutter counted, lie in a span."""
    start, end = row_span(block, row)
    low, high = max(start, span.start), min(end, span.end)
    if low >= high:
        return None
    return low - start + row.gutter, high - start + row.gutter


def word_at(line: Line, point: int) -> Span:
    """The word of a row that a point is in; paths and addresses count as one."""
    start, _ = row_span(line.block, line.row)
    for found in _WORD.finditer(line.row.body):
        if found.start() <= point - start < found.end():
            return Span(start + found.start(), start + found.end())
    return Span(point, point)


def line_at(document: Document, line: Line) -> Span:
    """The line of the source that a row is wrapped from."""
    rows = document.layout.rows(line.block)
    first = last = line.number
    while first > 0 and rows[first].join is not None:
        first -= 1
    while last + 1 < len(rows) and rows[last + 1].join is not None:
        last += 1
    return Span(row_span(line.block, rows[first]).start, row_span(line.block, rows[last]).end)


def selected_text(document: Document, span: Span) -> str:
    """The text of a span as it was written: unwrapped, without bars and margins, with bullets and signs.

    Lays out what it covers. A single word is copied without the bullet or the sign of its line.
    """
    out: list[str] = []
    first_lead = ""
    block = document.block_at(span.start)
    while block is not None and block.point < span.end:
        for row in document.layout.rows(block):
            start, end = row_span(block, row)
            if end < span.start or start >= span.end or (end == span.start and end > start):
                continue
            low, high = max(start, span.start), min(end, span.end)
            text = row.body[low - start : high - start]
            if row.join is None or not out:
                lead = row.lead if low == start and row.join is None else ""
                first_lead = first_lead if out else lead
                out.append(lead + text if out else text)
            else:
                out[-1] += row.join + text
        block = document.layout.heights.beside(block, 1)
    if len(out) > 1 or (out and not _WORD.fullmatch(out[0])):
        out[0] = first_lead + out[0]
    return "\n".join([line.rstrip() for line in out])
