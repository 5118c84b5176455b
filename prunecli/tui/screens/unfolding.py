"""A table whose rows unfold, as for /cost: Enter or a click shows the rows below one."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from textual import events

from prunecli.commands.command import Table
from prunecli.tui.screens.table import Rows, TableScreen

FOLDED, OPEN, PLAIN = "▸ ", "▾ ", "  "
"""The signs before the first cell of a row: one that can be unfolded, one that is unfolded, and any other."""


class UnfoldingRows(Rows):
    """The rows of a table. Enter or a click unfolds and folds the marked row; keys that type text never do."""

    def __init__(self, table: Table) -> None:
        self._whole = table
        self._open = set[int]()
        self._types = False
        self._sources: list[int] = []
        self._at = next((at for at, below in enumerate(table.below) if below), -1)
        super().__init__(self._shown())
        self._mark()

    def _shown(self) -> Table:
        """Return the table with the rows that are unfolded. `_sources` maps each row to its row in the whole table,
        or to -1 for an unfolded detail."""
        rows: list[tuple[str, ...]] = []
        self._sources = []
        for at, row in enumerate(self._whole.rows):
            below = self._below(at)
            rows.append(_prefixed(row, (OPEN if at in self._open else FOLDED) if below else PLAIN))
            self._sources.append(at)
            if at in self._open:
                rows += [_prefixed(one, PLAIN * 2) for one in below]
                self._sources += [-1] * len(below)
        return replace(self._whole, rows=tuple(rows), below=())

    def _below(self, at: int) -> Sequence[tuple[str, ...]]:
        return self._whole.below[at] if at < len(self._whole.below) else ()

    def _mark(self) -> None:
        self.marked = self._sources.index(self._at) if self._at >= 0 else -1
        self.refresh()

    def _toggle(self) -> None:
        self._open ^= {self._at}
        top = self.scroll_offset.y
        self.show(self._shown())
        self._mark()
        if isinstance(self.screen, TableScreen):
            self.screen.fit()
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        self.call_after_refresh(self._reveal)

    def _reveal(self) -> None:
        """Scroll to the rows below the marked one, as far as they fit with it."""
        more = len(self._below(self._at)) if self._at in self._open else 0
        first, last = self._layout.line_of(self.marked), self._layout.line_of(self.marked + more)
        room, top = max(1, self.size.height - 1), self.scroll_offset.y
        self.scroll_to(y=min(first, max(top, last - room + 1)), animate=False, force=True, immediate=True)

    def _move(self, step: int) -> None:
        able = [at for at, below in enumerate(self._whole.below) if below]
        place = able.index(self._at) + step
        if not 0 <= place < len(able):
            self.scroll_relative(y=step, animate=False)
            return
        self._at = able[place]
        self._mark()
        line, top = self._layout.line_of(self.marked), self.scroll_offset.y
        room = max(1, self.size.height - 1)
        if not top <= line < top + room:
            self.scroll_to(y=max(0, line - (room - 1 if step > 0 else 0)), animate=False)

    def on_key(self, event: events.Key) -> None:
        self._types = self._types or event.is_printable
        if self._types:
            return  # this closes the screen, so the key belongs to the prompt below
        is_open = self._at in self._open
        deeds: dict[str, Callable[[], None]] = {
            "up": lambda: self._move(-1),
            "down": lambda: self._move(1),
            "enter": self._toggle,
            "right": lambda: None if is_open else self._toggle(),
            "left": lambda: self._toggle() if is_open else None,
        }
        if event.key in deeds:
            event.stop()
            event.prevent_default()
            deeds[event.key]()

    def on_click(self, event: events.Click) -> None:
        row = self._layout.row_at(event.y - 1 + self.scroll_offset.y) if event.y else -1
        source = self._sources[row] if row >= 0 else -1
        if source >= 0 and self._below(source):
            event.stop()
            self._at = source
            self._toggle()


class UnfoldingScreen(TableScreen):
    """The screen that shows a table with unfolding rows until Esc."""

    keys = "Up/Down to choose · Enter to unfold · Esc to close"

    def __init__(self, table: Table, typing: Callable[[str], object] | None = None) -> None:
        super().__init__(table, typing, UnfoldingRows(table))


def _prefixed(row: tuple[str, ...], prefix: str) -> tuple[str, ...]:
    return (f"{prefix}{row[0]}", *row[1:]) if any(row) else row
