"""Selection: points in the session's text, independent of wrapping and folding.

A point is one number that increases downwards: the entry, the block in it, the character in the block. So a selection
survives scrolling, streaming, resizing and folds elsewhere.
"""

import re
from typing import NamedTuple

from prunecli.tui.transcript.document import Document
from prunecli.tui.transcript.items import Block
from prunecli.tui.transcript.rows import Row, clusters
from prunecli.tui.transcript.viewport import Line

WORD = re.compile(r"[\w./~@:+#-]+|\s+|[^\w\s]+")


class Span(NamedTuple):
    """A range of text between two points, excluding the end."""

    start: int
    end: int


def row_span(block: Block, row: Row) -> Span:
    start = block.point + row.place
    return Span(start, start + len(row.body))


def point_at(line: Line, x: int) -> int:
    """Return the point at a cell of a row; to the right of the text, return the end of the row."""
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
    """Return the range of a row's characters within a span, gutter included."""
    start, end = row_span(block, row)
    low, high = max(start, span.start), min(end, span.end)
    if low >= high:
        return None
    return low - start + row.gutter, high - start + row.gutter


def word_at(line: Line, point: int) -> Span:
    """Return the word at a point; paths and addresses count as one."""
    start, _ = row_span(line.block, line.row)
    for found in WORD.finditer(line.row.body):
        if found.start() <= point - start < found.end():
            return Span(start + found.start(), start + found.end())
    return Span(point, point)


def line_at(document: Document, line: Line) -> Span:
    rows = document.layout.rows(line.block)
    first = last = line.number
    while first > 0 and rows[first].join is not None:
        first -= 1
    while last + 1 < len(rows) and rows[last + 1].join is not None:
        last += 1
    return Span(row_span(line.block, rows[first]).start, row_span(line.block, rows[last]).end)
