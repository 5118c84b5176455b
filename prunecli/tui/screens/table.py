"""A scrollable table, as for the keys, whose rows may unfold, as for /cost. Only the rows in view are drawn."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from prunecli.commands.command import Table
from prunecli.tui.screens.columns import Layout, Piece, needs, note_lines
from prunecli.tui.screens.dialog import Dialog
from prunecli.tui.slices import once
from prunecli.tui.widgets.fitting import GAP, last_keys
from prunecli.util.sanitize import one_line, visible

RENEW_SECONDS = 0.1
"""Seconds in which the changes of a live table are shown together."""
MOST_NOTE_ROWS = 4
"""Maximum rows of a note that stays below the table; on a low screen, a third of the rows. A longer note scrolls with
the table if both do not fit."""


FOLDED, OPEN, PLAIN = "▸ ", "▾ ", "  "
"""The signs before the first cell of a row: one that can be unfolded, one that is unfolded, and any other."""


class Rows(ScrollView, can_focus=True):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--heading", "rows--marked"}

    def __init__(self, table: Table, id: str | None = None) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id)
        self.marked = -1
        self._take(table)

    def _take(self, table: Table) -> None:
        self._table, self._needed = table, needs(table)
        self._layout = Layout(table, self._needed, 80)
        self._end: list[str] = []
        self.scrolls_note = False

    def show(self, table: Table) -> None:
        self._take(table)
        self.scroll_to(y=0, animate=False, force=True, immediate=True)
        self.on_resize()

    def mark(self, row: int) -> None:
        """Mark a row, or the last one before it, and scroll to it; -1 for none."""
        self.marked = max(-1, min(row, len(self._table.rows) - 1))
        line, top, room = (
            self._layout.line_of(self.marked),
            self.scroll_offset.y,
            max(1, self.size.height - 1),
        )
        if self.marked >= 0 and not top <= line < top + room:
            self.scroll_to(
                y=line if line < top else line - room + 1, animate=False, force=True, immediate=True
            )
        self.refresh()

    def row_under(self, y: int) -> int:
        """Return the row that is shown on a line of the widget, -1 for none."""
        return self._layout.row_at(y - 1 + self.scroll_offset.y) if y else -1

    def lines_in(self, room: int) -> int:
        return len(Layout(self._table, self._needed, room))

    def on_resize(self) -> None:
        room = self.scrollable_content_region.width
        self._layout = Layout(self._table, self._needed, room)
        self._end = ["", *note_lines(self._table.note, room)] if self.scrolls_note else []
        self.virtual_size = Size(room, 1 + len(self._layout) + len(self._end))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self.rich_style
        muted = self.get_component_rich_style("rows--heading")
        if y == 0:
            return Strip([Segment(self._layout.heading, muted)]).adjust_cell_length(width, muted)
        at = y - 1 + self.scroll_offset.y
        pieces = self._layout.line(at)
        if 0 <= at - len(self._layout) < len(self._end):
            pieces = (Piece(self._end[at - len(self._layout)], muted=True),)
        if self.marked >= 0 and self._layout.row_at(at) == self.marked:
            style = self.get_component_rich_style("rows--marked")
            muted += Style(bgcolor=style.bgcolor)
        line = [Segment(text, muted if is_muted else style) for text, is_muted in pieces]
        return Strip(line).adjust_cell_length(width, style)


class TableScreen(Dialog[bool]):
    """A table over the conversation, shown until Esc. Typing closes the table and goes to `typing`, if given.

    Returns True if it was closed by a key that types nothing.
    """

    DEFAULT_CSS = """
    TableScreen {
        align: center bottom; background: $background 0%;
        #box { width: 100%; height: auto; max-height: 90%; }
        #box { background: $panel; border-top: solid $accent; padding: 0 1; }
        #title { height: 1; text-style: bold; color: $foreground; }
        Rows { height: auto; max-height: 100%; margin: 1 0 0 0; scrollbar-size-vertical: 1; }
        Rows { background: $panel; color: $foreground; }
        Rows .rows--heading { color: $muted; background: $panel; }
        Rows .rows--marked { color: $foreground; background: $selection; }
        #note { height: auto; color: $muted; margin: 1 0 0 0; }
        #help { height: 1; color: $muted; }
    }
    """

    keys = "Up/Down to scroll · Esc to close"
    """The line of keys, the first of which is shown only if the table scrolls."""

    def __init__(
        self, table: Table, typing: Callable[[str], object] | None = None, rows: Rows | None = None
    ) -> None:
        super().__init__()
        self._table = table
        self._typing = typing
        self._rows = rows or Rows(table)
        self._is_due = False
        self._unwatch: Callable[[], None] = lambda: None

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(Content(one_line(self._table.title)), id="title")
            yield self._rows
            yield Static(id="note")
            yield Static(id="help")

    def on_mount(self) -> None:
        self._rows.focus()
        if self._table.from_end:
            self.call_after_refresh(self._rows.scroll_end, animate=False)
        if self._table.live is not None:
            self._unwatch = self._table.live.watch(self._changed)
            self._changed()  # it may have changed before

    def on_unmount(self) -> None:
        self._unwatch()

    def _changed(self) -> None:
        """Show the table as it is now, with the changes that follow at once."""
        if self._table.live is not None and not self._is_due and not self.is_closed:
            self._is_due = True
            once(self, RENEW_SECONDS, partial(self._renew, self._table.live.table))

    def _renew(self, table: Callable[[], Table]) -> None:
        self._is_due = False
        follows = self._table.from_end and self._rows.is_vertical_scroll_end
        self._table, top = table(), self._rows.scroll_offset.y
        self._rows.show(self._table)
        self.query_one("#title", Static).update(Content(one_line(self._table.title)))
        self.fit()
        if follows:
            self.call_after_refresh(self._rows.scroll_end, animate=False)
            return
        self._rows.scroll_to(y=top, animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        self.fit()

    def fit(self) -> None:
        room = max(1, self.size.width - 2)
        note = note_lines(self._table.note, room)
        below = len(note) + 1 if note else 0
        most = max(3, int(self.size.height * 0.9) - 4)
        wanted = self._rows.lines_in(room) + 1
        scrolls = wanted + below > most and len(note) > min(MOST_NOTE_ROWS, most // 3)
        said = self.query_one("#note", Static)
        said.update(Content(visible(self._table.note)))
        said.display = bool(note) and not scrolls
        self._rows.scrolls_note = scrolls
        height = most if scrolls else min(wanted, max(3, most - below))
        self._rows.styles.height = height
        has_keys = self._rows.marked >= 0 or scrolls or wanted > height
        keys = self.keys if has_keys else self.keys.partition(GAP)[2]
        self.query_one("#help", Static).update(Content(last_keys(keys, room)))
        self._rows.on_resize()

    def on_key(self, event: events.Key) -> None:
        """Close on Esc, q and Enter, and on any key that begins a prompt."""
        typed = event.character if event.is_printable else None
        types = typed is not None and self._typing is not None and typed != "q"
        if typed and self._typing and types:
            self._typing(typed)
        elif event.key not in ("escape", "q", "enter", "ctrl+c"):
            return
        event.stop()
        self.dismiss(not types)


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
        row = self.row_under(event.y)
        source = self._sources[row] if row >= 0 else -1
        if source >= 0 and self._below(source):
            event.stop()
            self._at = source
            self._toggle()


class UnfoldingScreen(TableScreen):
    keys = "Up/Down to choose · Enter to unfold · Esc to close"

    def __init__(self, table: Table, typing: Callable[[str], object] | None = None) -> None:
        super().__init__(table, typing, UnfoldingRows(table))


def _prefixed(row: tuple[str, ...], prefix: str) -> tuple[str, ...]:
    return (f"{prefix}{row[0]}", *row[1:]) if any(row) else row
