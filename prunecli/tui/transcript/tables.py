"""Lays out tables: columns get the width they need if there is room; otherwise their cells are wrapped.

If even that does not fit, each row becomes several lines of the form "head: cell", so nothing is cut.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.segment import Segment

from prunecli.tui.transcript.chunks import TableShape
from prunecli.tui.transcript.inline_markdown import runs
from prunecli.tui.transcript.palette import Inks
from prunecli.tui.transcript.rows import Gutter, Row, Run, flow, width_of

if TYPE_CHECKING:
    from markdown_it.token import Token

_LEAST = 4  # column width below which "head: cell" lines are easier to read
_BETWEEN = 3  # cells of " │ "

Cell = list[Run]


def table_rows(
    tokens: Sequence["Token"], width: int, inks: Inks, gutter: Gutter, shape: TableShape | None, part: int
) -> list[list[Row]]:
    """Lay out a table, grouped by source line; the head and its rule come first.

    `shape` is shared by the table's pieces; pieces after the first do not show the head.
    """
    cells, aligns = _read(tokens, inks)
    if not cells:
        return []
    needs = _needs(cells, shape)
    room = width - gutter.cells - _BETWEEN * (len(needs) - 1)
    if room < _LEAST * len(needs) and len(needs) > 1:
        return [[], *_as_lines(cells, width, inks, gutter)]
    widths = _shares(needs, room)
    head, *body = [_table_row(row, widths, aligns, inks, gutter) for row in cells]
    rule = "─┼─".join(["─" * wide for wide in widths])
    segments = [*gutter.segments, Segment(rule, inks.faint)]
    return [[] if part else [*head, Row(segments, gutter.cells + len(rule), gutter.chars)], *body]


def _read(tokens: Sequence["Token"], inks: Inks) -> tuple[list[list[Cell]], list[str]]:
    """Return the cells row by row, head first, and each column's alignment."""
    rows: list[list[Cell]] = []
    aligns: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "th_open":
            aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
        elif token.type == "inline" and rows:
            cell = runs(token.children or (), inks.text if len(rows) > 1 else inks.strong, inks)
            rows[-1].append([(text.replace("\n", " "), style) for text, style in cell])
    return rows, aligns


def _needs(cells: Sequence[Sequence[Cell]], shape: TableShape | None) -> list[int]:
    """Return the preferred column widths over all pieces seen so far."""
    columns = max(len(row) for row in cells)
    needs = [1] * columns
    for row in cells:
        for column, cell in enumerate(row):
            needs[column] = max(needs[column], sum([width_of(text) for text, _ in cell]))
    if shape is None:
        return needs
    old = [*shape.widths, *[0] * (columns - len(shape.widths))]
    grown = [max(pair) for pair in zip(needs, old, strict=False)]
    if grown != shape.widths:
        shape.widths = grown
        shape.version += 1
    return grown


def _shares(needs: Sequence[int], room: int) -> list[int]:
    """Fit the widths: narrow columns get the width they need, and wide ones share the rest."""
    widths = list(needs)
    if sum(needs) <= room:
        return widths
    left = room
    for place, column in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        widths[column] = max(1, min(needs[column], left // (len(needs) - place)))
        left -= widths[column]
    return widths


def _table_row(
    row: Sequence[Cell],
    widths: Sequence[int],
    aligns: Sequence[str],
    inks: Inks,
    gutter: Gutter,
) -> list[Row]:
    out: list[Row] = []
    bar = Segment(" │ ", inks.faint)
    columns: list[list[Row]] = []
    for cell, width in zip_longest(row[: len(widths)], widths):
        wrapped: list[Row] = []
        if cell is not None:
            flow(cell, width, wrapped)
        columns.append(wrapped)
    for line in range(max(len(wrapped) for wrapped in columns)):
        segments, used = list(gutter.segments), gutter.cells
        for number, width in enumerate(widths):
            if number:
                segments.append(bar)
                used += _BETWEEN
            cell_row = columns[number][line] if line < len(columns[number]) else Row((), 0)
            spare = max(0, width - cell_row.cells)
            align = aligns[number] if number < len(aligns) else ""
            left = spare if align == "right" else spare // 2 if align == "center" else 0
            if left:
                segments.append(Segment(" " * left, inks.text))
            segments.extend(cell_row.segments)
            if spare > left:
                segments.append(Segment(" " * (spare - left), inks.text))
            used += max(width, cell_row.cells)
        out.append(Row(segments, used, gutter.chars))
    return out


def _as_lines(cells: Sequence[Sequence[Cell]], width: int, inks: Inks, gutter: Gutter) -> Iterator[list[Row]]:
    head, *rows = cells
    rest = gutter.then("  ", inks.text)
    for number, row in enumerate(rows):
        out = [Row(gutter.segments, gutter.cells, gutter.chars)] if number else []
        for column, cell in enumerate(row):
            name = "".join([text for text, _ in head[column]]) if column < len(head) else ""
            flow([(f"{name}: ", inks.muted), *cell], width, out, gutter, rest)
        yield out
