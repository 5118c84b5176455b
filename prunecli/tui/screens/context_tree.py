"""The tree of the inspector: only the rows in view are worked out and drawn, however long the session is."""

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from prunecli.context.labels import Key
from prunecli.context.listing import Rows
from prunecli.context.outline import Node, Row
from prunecli.tui.showing.inspected import Columns, is_pruned, tree_line
from prunecli.tui.transcript.palette import Inks, Palette, inks


class TreeRows(ScrollView, can_focus=True):
    """Rows under a heading, one of which is marked. What is unfolded is decided by the screen."""

    DEFAULT_CSS = """
    TreeRows { height: 1fr; background: $background; scrollbar-size-vertical: 1; }
    TreeRows { overflow-x: hidden; overflow-y: scroll; }
    """

    class Marked(Message):
        """Another row is marked."""

    class Folded(Message):
        """This node is to be folded or unfolded."""

        def __init__(self, key: Key) -> None:
            super().__init__()
            self.key = key

    def __init__(
        self, palette: Palette, node: Callable[[Key], Node | None], why: Callable[[Key], str]
    ) -> None:
        super().__init__()
        self._wear(palette)
        self._node = node
        self._why = why
        self.rows = Rows()
        self.at = 0
        self._columns = Columns(80, 0)
        self._last_seq = 0

    def _wear(self, palette: Palette) -> None:
        self._inks = inks(palette)
        self._selected = Style(color=palette.foreground, bgcolor=palette.selection)

    def set_palette(self, palette: Palette) -> None:
        """Other colours."""
        self._wear(palette)
        self.refresh()

    @property
    def marked(self) -> Row | None:
        """The marked row."""
        return self.rows[self.at] if self.at < len(self.rows) else None

    @property
    def page(self) -> int:
        """Rows that are in view below the heading."""
        return max(1, self.size.height - 1)

    def show(self, rows: Rows, last_seq: int, mark: Key | None = None) -> None:
        """Other rows. This node is marked, or the one that was; else what stands at its place."""
        if mark is None and self.marked:
            mark = self.marked.key
        at = rows.place(mark) if mark else None
        self.rows, self._last_seq = rows, last_seq
        self.at = max(0, min(self.at if at is None else at, len(rows) - 1))
        self._lay_out()
        self.scroll_into_view()
        self.refresh()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self._columns = Columns(width, self._last_seq)
        self.virtual_size = Size(width, len(self.rows) + 1)

    def on_resize(self) -> None:
        """The columns for another width."""
        self._lay_out()
        self.scroll_into_view()
        self.refresh()

    def move(self, to: int) -> None:
        """Marks a row, the nearest there is."""
        to = max(0, min(to, len(self.rows) - 1))
        if to != self.at:
            self.at = to
            self.scroll_into_view()
            self.refresh()
            self.post_message(self.Marked())

    def scroll_into_view(self) -> None:
        """Scrolls by as little as shows the marked row."""
        top = self.scroll_offset.y
        wanted = min(max(top, self.at - self.page + 1), self.at)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, force=True, immediate=True)

    def render_line(self, y: int) -> Strip:
        """The heading in the first row, always; the rows below."""
        width = self.size.width
        if y == 0:
            style = self._inks.muted
            return Strip([Segment(self._columns.heading(), style)]).adjust_cell_length(width, style)
        at = y - 1 + self.scroll_offset.y
        if at >= len(self.rows):
            return Strip.blank(width, self._inks.text)
        row = self.rows[at]
        node = self._node(row.key)
        if node is None:
            return Strip.blank(width, self._inks.text)
        style = self._selected if at == self.at else _ink(node, self._inks)
        line = tree_line(node, row, self._columns, self._why(row.key) or node.why)
        return Strip([Segment(line, style)]).adjust_cell_length(width, style)

    def on_click(self, event: events.Click) -> None:
        """A click marks a row; on the fold's sign, or on the marked row, it folds."""
        at = event.y - 1 + self.scroll_offset.y
        if event.y < 1 or at >= len(self.rows):
            return
        again = at == self.at
        self.move(at)
        if again and self.rows[at].unfolds:
            self.post_message(self.Folded(self.rows[at].key))


def _ink(node: Node, ink: Inks) -> Style:
    """The style of a row."""
    if is_pruned(node) or (node.key.kind != "turn" and node.key.seq < 0):
        return ink.muted
    if node.state == "pinned":
        return ink.accent
    return ink.strong if node.key.kind == "turn" else ink.text
