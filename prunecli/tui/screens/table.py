"""A table to look at: /context, /prune-stats, the keys. Only the rows in view are drawn."""

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from prunecli.commands.command import Table
from prunecli.sanitize import one_line, visible
from prunecli.tui.transcript.rows import clip, width_of

GAP = 2
NARROWEST = 6


def widths(table: Table, room: int) -> list[int]:
    """The cells of each column: what it needs, the widest giving way until all fit."""
    columns = len(table.headings)
    needed = [width_of(one_line(heading)) for heading in table.headings]
    for row in table.rows:
        for at, cell in enumerate(row[:columns]):
            needed[at] = max(needed[at], width_of(one_line(cell)))
    room -= GAP * (columns - 1)
    while (excess := sum(needed) - room) > 0 and max(needed) > NARROWEST:
        widest = needed.index(max(needed))
        second = max((cells for at, cells in enumerate(needed) if at != widest), default=0)
        needed[widest] = max(NARROWEST, needed[widest] - max(1, min(excess, needed[widest] - second)))
    return needed


def line(table: Table, cells: tuple[str, ...], columns: list[int]) -> str:
    """A row as text, each cell in its column."""
    parts: list[str] = []
    for at, width in enumerate(columns):
        text = clip(one_line(cells[at]) if at < len(cells) else "", width)
        space = " " * max(0, width - width_of(text))
        parts.append(space + text if at in table.right else text + space)
    return (" " * GAP).join(parts)


class Rows(ScrollView, can_focus=True):
    """The rows of a table, under its headings."""

    COMPONENT_CLASSES = {"rows--heading"}  # noqa: RUF012  # Textual's way

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table
        self._columns: list[int] = []

    def show(self, table: Table) -> None:
        """Another table."""
        self._table = table
        self.scroll_to(y=0, animate=False, force=True, immediate=True)
        self.on_resize()

    def on_resize(self) -> None:
        """Lays the columns out for another width."""
        room = self.scrollable_content_region.width
        self._columns = widths(self._table, room)
        self.virtual_size = Size(room, len(self._table.rows) + 1)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The headings in the first row, always; the rows below."""
        width = self.size.width
        table = self._table
        if y == 0:
            style = self.get_component_rich_style("rows--heading")
            text = line(table, table.headings, self._columns)
        else:
            style = self.rich_style
            at = y - 1 + self.scroll_offset.y
            text = line(table, table.rows[at], self._columns) if at < len(table.rows) else ""
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)


class TableScreen(ModalScreen[None]):
    """Shows a table over the conversation until Esc."""

    DEFAULT_CSS = """
    TableScreen {
        align: center bottom; background: $background 0%;
        #box { width: 100%; height: auto; max-height: 90%; }
        #box { background: $panel; border-top: solid $accent; padding: 0 1; }
        #title { height: 1; text-style: bold; color: $foreground; }
        Rows { height: auto; max-height: 100%; margin: 1 0 0 0; scrollbar-size-vertical: 1; }
        Rows { background: $panel; color: $foreground; }
        Rows .rows--heading { color: $muted; background: $panel; }
        #note { height: auto; color: $muted; margin: 1 0 0 0; }
        #help { height: 1; color: $muted; }
    }
    """
    BINDINGS: ClassVar = []

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table
        self._rows = Rows(table)

    def compose(self) -> ComposeResult:
        """Title, rows, note."""
        with Vertical(id="box"):
            yield Static(Content(one_line(self._table.title)), id="title")
            yield self._rows
            if self._table.note:
                yield Static(Content(visible(self._table.note)), id="note")
            yield Static(Content("Up and Down scroll · Esc closes"), id="help")

    def on_mount(self) -> None:
        """The keys are for the rows."""
        self._rows.focus()

    def on_resize(self) -> None:
        """As high as its rows, or as the screen allows."""
        note = 2 if self._table.note else 0
        most = max(3, int(self.size.height * 0.9) - 5 - note)
        self._rows.styles.height = min(len(self._table.rows) + 1, most)

    def on_key(self, event: events.Key) -> None:
        """Esc, q and Enter close."""
        if event.key in ("escape", "q", "enter", "ctrl+c"):
            event.stop()
            self.dismiss(None)
