"""The visible rows: an anchor in the layout, moved row by row, never an absolute position.

Heights above the screen are guesses. So is the row number of the top, which only the scroll bar uses. Moving lays out
every row that it crosses, so short moves are exact.
"""

from typing import NamedTuple

from prunecli.tui.transcript.items import Block
from prunecli.tui.transcript.layout import Layout
from prunecli.tui.transcript.rows import Row


class Line(NamedTuple):
    """A row on the screen: its block, its number in the block, and the row."""

    block: Block
    number: int
    row: Row


class Anchor(NamedTuple):
    """The row at the top of the screen. `place` finds it again after its block is rewrapped."""

    block: Block
    number: int
    place: int


class Viewport:
    """A window of `height` rows on a layout. While it follows, it stays at the bottom as entries are added."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.height = 0
        self.follow = True
        self.lines: list[Line] = []
        self._top: Anchor | None = None

    def settle(self) -> None:
        """Apply layout changes and update `lines`. Follow again if the last row is visible."""
        self._top = self._bottom() if self.follow else self._settled()
        self.lines = self._collect()
        if not self.follow and self._at_end():
            self.follow = True
            self._top = self._bottom()
            self.lines = self._collect()

    def hold(self) -> None:
        """Stay in place when entries are added below, until the last row is visible again."""
        self.follow = False

    def _at_end(self) -> bool:
        if not self.lines:
            return True
        block, number, _ = self.lines[-1]
        if number + 1 < len(self._layout.rows(block)):
            return False
        below = self._layout.heights.beside(block, 1)
        while below is not None and not self._layout.rows(below):
            below = self._layout.heights.beside(below, 1)
        return below is None

    def _settled(self) -> Anchor | None:
        """Return the anchor after changes: the same row or the nearest one, never past the end."""
        top, heights = self._top, self._layout.heights
        if top is None or top.block.page is None:
            block = top.block.item.blocks[0] if top and top.block.item.blocks else heights.first
            if block is None or block.page is None:
                block = heights.first
            return None if block is None else self._anchor(block, 0)
        rows = self._layout.rows(top.block)
        if top.number < len(rows) and rows[top.number].place == top.place:
            return top
        number = 0
        while number + 1 < len(rows) and rows[number + 1].place <= top.place:
            number += 1
        return self._anchor(top.block, number)

    def _anchor(self, block: Block, number: int) -> Anchor:
        rows = self._layout.rows(block)
        number = max(0, min(number, len(rows) - 1))
        return Anchor(block, number, rows[number].place if rows else 0)

    def _up(self, block: Block, number: int, count: int) -> tuple[Anchor, int]:
        """Return the row this many rows above, and how many rows were missing."""
        while count > number:
            above = self._layout.heights.beside(block, -1)
            if above is None:
                return self._anchor(block, 0), count - number
            count -= number
            block, number = above, len(self._layout.rows(above))
        return self._anchor(block, number - count), 0

    def _down(self, block: Block, number: int, count: int) -> Anchor:
        while number + count >= len(rows := self._layout.rows(block)):
            below = self._layout.heights.beside(block, 1)
            if below is None:
                return self._anchor(block, len(rows) - 1)
            count -= len(rows) - number
            block, number = below, 0
        return self._anchor(block, number + count)

    def _bottom(self) -> Anchor | None:
        last = self._layout.heights.last
        if last is None:
            return None
        return self._up(last, len(self._layout.rows(last)), self.height)[0]

    def _collect(self) -> list[Line]:
        lines: list[Line] = []
        if self._top is None:
            return lines
        block: Block | None = self._top.block
        start = self._top.number
        while block is not None and len(lines) < self.height:
            rows = self._layout.rows(block)
            for number in range(start, min(len(rows), start + self.height - len(lines))):
                lines.append(Line(block, number, rows[number]))
            start = 0
            block = self._layout.heights.beside(block, 1)
        return lines

    # -- position

    @property
    def total(self) -> int:
        return self._layout.heights.total

    @property
    def offset(self) -> int:
        top = self._top
        if top is None or top.block.page is None:
            return 0
        return self._layout.heights.top_of(top.block) + top.number

    @property
    def top_key(self) -> int:
        """The key of the entry at the top; -1 if there is none."""
        return self.lines[0].block.item.key if self.lines else -1

    @property
    def bottom_key(self) -> int:
        """The key of the entry at the bottom; -1 if there is none."""
        return self.lines[-1].block.item.key if self.lines else -1

    def find(self, block: Block, number: int) -> int | None:
        """Return the screen row of a layout row; None if it is not visible."""
        for y, line in enumerate(self.lines):
            if line.block is block and line.number == number:
                return y
        return None

    # -- moving

    def move(self, rows: int) -> None:
        """Scroll down by this many rows, or up if negative. Reaching the bottom starts following; leaving it
        stops."""
        if self._top is None:
            return
        if rows < 0:
            top, _ = self._up(self._top.block, self._top.number, -rows)
            if top != self._top:
                self._go(top)
        elif rows > 0:
            self._go(self._down(self._top.block, self._top.number, rows))

    def _go(self, top: Anchor) -> None:
        bottom = self._bottom()
        self.follow = bottom is not None and self._order(top) >= self._order(bottom)
        self._top = bottom if self.follow else top
        self.lines = self._collect()

    def _order(self, anchor: Anchor) -> tuple[int, int]:
        return anchor.block.point, anchor.number

    def home(self) -> None:
        first = self._layout.heights.first
        if first is not None:
            self._go(self._anchor(first, 0))

    def end(self) -> None:
        self.follow = True
        self.settle()

    def seek(self, offset: int) -> None:
        """Scroll to a row by its guessed number, for the scroll bar."""
        if offset >= self.total - self.height:
            self.end()
        elif (found := self._layout.heights.at(offset)) is not None:
            self._go(self._anchor(*found))

    def show(self, block: Block, number: int, margin: int = 0, always: bool = True) -> None:
        """Scroll a row to `margin` rows below the top. Do nothing if the row is visible, unless `always`."""
        if always or self.find(block, number) is None:
            self._go(self._up(block, number, margin)[0])
