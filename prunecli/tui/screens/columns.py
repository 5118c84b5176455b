"""Fits a table to a width. Columns that do not fit side by side move to lines below their row.

Numbers and headings are never cut; columns of words wrap. Pure, without a screen.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from prunecli.commands.command import Table
from prunecli.tui.transcript.rows import breaks, width_of
from prunecli.util.sanitize import one_line, visible

GAP = 2
READABLE = 28
"""Minimum width of a column of words. Below it, the column moves below its row."""
_INDENT = 4


class Piece(NamedTuple):
    text: str
    muted: bool = False


class Shape(NamedTuple):
    """The widths of the leading columns that fit side by side, and the columns below them."""

    side_by_side: tuple[int, ...]
    below: range


def needs(table: Table) -> list[int]:
    """Return the width each column would take with unlimited room."""
    needed = [width_of(one_line(heading)) for heading in table.headings]
    for row in table.rows:
        for at, cell in enumerate(row[: len(needed)]):
            cells = width_of(one_line(cell))
            if cells > needed[at]:
                needed[at] = cells
    return needed


def shape(table: Table, needed: Sequence[int], room: int) -> Shape:
    """Decide which columns fit side by side, and how wide; wide columns of words shrink first."""
    heads = [width_of(one_line(heading)) for heading in table.headings]
    least = [
        cells if at in table.right else min(cells, max(heads[at], READABLE))
        for at, cells in enumerate(needed)
    ]
    count = len(least)
    while count > 1 and sum(least[:count]) + GAP * (count - 1) > room:
        count -= 1
    taken = list(needed[:count])
    left = max(1, room - GAP * (count - 1))
    while (excess := sum(taken) - left) > 0:
        spare = [cells - (least[at] if count > 1 else 1) for at, cells in enumerate(taken)]
        if max(spare) <= 0:
            break
        widest = max(range(count), key=lambda at: (spare[at] > 0, taken[at]))
        second = max((taken[at] for at in range(count) if at != widest and spare[at] > 0), default=0)
        step = min(excess, spare[widest], max(1, taken[widest] - second))
        taken[widest] -= step
    return Shape(tuple(taken), range(count, len(least)))


def note_lines(note: str, room: int) -> list[str]:
    return [part for line in visible(note).split("\n") for part in _wrapped(line, room)] if note else []


class Layout:
    """A table at a width. Lines are made on demand; `len` counts them."""

    def __init__(self, table: Table, needed: Sequence[int], room: int) -> None:
        self._table = table
        self._room = room
        self.shape = shape(table, needed, room)
        widths = self.shape.side_by_side
        self._wordy = [at for at, width in enumerate(widths) if needed[at] > width]
        self._starts: list[int] | None = None
        if self._wordy or self.shape.below:
            heights = (len(self._lines_of(row)) for row in table.rows)
            self._starts = list(accumulate(heights, initial=0))

    def __len__(self) -> int:
        return self._starts[-1] if self._starts is not None else len(self._table.rows)

    @property
    def heading(self) -> str:
        return self._side_by_side(self._table.headings)[0]

    def line(self, at: int) -> Sequence[Piece]:
        """Return one line, or an empty one past the end."""
        if not 0 <= at < len(self):
            return ()
        if self._starts is None:
            return (Piece(self._side_by_side(self._table.rows[at])[0]),)
        row = bisect_right(self._starts, at) - 1
        return self._lines_of(self._table.rows[row])[at - self._starts[row]]

    def row_at(self, line: int) -> int:
        """Return the row that a line belongs to, -1 past the end."""
        if not 0 <= line < len(self):
            return -1
        return line if self._starts is None else bisect_right(self._starts, line) - 1

    def line_of(self, row: int) -> int:
        return row if self._starts is None else self._starts[row]

    def _lines_of(self, row: Sequence[str]) -> list[Sequence[Piece]]:
        lines: list[Sequence[Piece]] = [(Piece(line),) for line in self._side_by_side(row)]
        for at in self.shape.below:
            text = one_line(row[at]) if at < len(row) else ""
            if text:
                lines += self._below(one_line(self._table.headings[at]), text)
        return lines

    def _below(self, heading: str, text: str) -> list[Sequence[Piece]]:
        label = f"{heading}: " if heading else ""
        first, *rest = _wrapped(label + text, max(1, self._room - _INDENT))
        space, cut = " " * _INDENT, len(label) if first.startswith(label) else 0
        return [
            (Piece(space + first[:cut], muted=True), Piece(first[cut:])),
            *[(Piece(space + line),) for line in rest],
        ]

    def _side_by_side(self, row: Sequence[str]) -> list[str]:
        widths = self.shape.side_by_side
        texts = [one_line(row[at]) if at < len(row) else "" for at in range(len(widths))]
        cells = [_wrapped(text, widths[at]) if at in self._wordy else [text] for at, text in enumerate(texts)]
        return [self._line([cell[at] if at < len(cell) else "" for cell in cells]) for at in _heights(cells)]

    def _line(self, texts: Sequence[str]) -> str:
        parts: list[str] = []
        for at, (text, width) in enumerate(zip(texts, self.shape.side_by_side, strict=True)):
            space = " " * max(0, width - width_of(text))
            parts.append(space + text if at in self._table.right else text + space)
        return (" " * GAP).join(parts)


def _heights(cells: Sequence[Sequence[str]]) -> range:
    return range(max(1, *map(len, cells)) if cells else 1)


def _wrapped(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end in breaks(text, width)]
