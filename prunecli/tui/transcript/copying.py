"""The text that is copied for a selection: the text as written, not as wrapped and drawn.

A selection within one paragraph, cell or piece of code copies the words as shown. A selection across elements copies
the Markdown source of each fully selected element, and the fence around code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from prunecli.tui.transcript.document import Document
from prunecli.tui.transcript.rows import Row, Written
from prunecli.tui.transcript.selection import WORD, Span, row_span
from prunecli.util.sanitize import TAB_WIDTH, visible_with_tabs

_MARK = re.compile("`+|~+")


@dataclass(slots=True)
class _Piece:
    """The selected part of an element, or of a row outside any element; `join` connects it to the piece above."""

    written: Written | None
    join: str | None
    lines: list[str] = field(default_factory=list)
    leads: list[str] = field(default_factory=list)
    whole: int = 0  # fully selected rows

    def take(self, row: Row, text: str, *, from_start: bool, to_end: bool) -> None:
        if row.join is None or not self.lines:
            self.lines.append(text)
            self.leads.append(row.lead if from_start and row.join is None else "")
        else:
            self.lines[-1] += row.join + text
        self.whole += from_start and to_end

    def said(self, *, alone: bool) -> list[str]:
        """Return the copied lines. `alone`: nothing else is selected."""
        written = self.written
        if written and written.source and self.whole == written.rows and (written.alone or not alone):
            return written.source.split("\n")
        shown = [(lead + line).rstrip() for lead, line in zip(self.leads, self.lines, strict=True)]
        if written is not None and written.tabs:
            shown = [_with_tabs(line, written) for line in shown]
        if written is None or not written.fence or alone:
            return shown
        mark = _MARK.match(written.fence)
        lines = [written.fence, *shown, mark[0] if mark else ""]
        return [" " * written.indent + line for line in lines]


def selected_text(document: Document, span: Span) -> str:
    """Return the text of a span, laying out the blocks it covers. A single word is copied without its line's bullet
    or sign."""
    pieces: list[_Piece] = []
    for row, low, high, size in _covered(document, span):
        goes_on = row.written is not None or row.join is not None
        if not (goes_on and pieces and pieces[-1].written is row.written):
            pieces.append(_Piece(row.written, row.join))
        pieces[-1].take(row, row.body[low:high], from_start=low == 0, to_end=high == size)
    lines = [line for piece in pieces for line in piece.lines]
    if len(lines) == 1 and WORD.fullmatch(lines[0]):
        return lines[0]
    alone = sum(any(line.strip() for line in piece.lines) for piece in pieces) <= 1
    out: list[str] = []
    for piece in pieces:
        first, *more = piece.said(alone=alone)
        if piece.join is None or not out:
            out.append(first)
        else:
            out[-1] += piece.join + first
        out += more
    return "\n".join(out)


def _with_tabs(text: str, written: Written) -> str:
    """Return the selected part of a line of code with the tabs that were drawn as spaces."""
    if not text.startswith(" ") and "  " not in text:
        return text
    exact = [text] if text in written.tabs else written.tabs
    for drawn in exact:
        low = drawn.find(text)
        if low >= 0:
            raw, cut = written.tabs[drawn]
            return visible_with_tabs("".join(_between(raw, low + cut, low + cut + len(text))))
    return text


def _between(raw: str, low: int, high: int) -> Iterator[str]:
    column = 0
    for char in raw:
        if low <= column < high:
            yield char
        column += TAB_WIDTH - column % TAB_WIDTH if char == "\t" else 1


def _covered(document: Document, span: Span) -> Iterator[tuple[Row, int, int, int]]:
    """Yield the rows that a span touches: the selected part of each, and the length of its text."""
    block = document.block_at(span.start)
    while block is not None and block.point < span.end:
        for row in document.layout.rows(block):
            start, end = row_span(block, row)
            if end < span.start or start >= span.end or (end == span.start and end > start):
                continue
            yield row, max(start, span.start) - start, min(end, span.end) - start, end - start
        block = document.layout.heights.beside(block, 1)
