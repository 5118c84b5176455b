"""The inspector's tree. Only the rows in view are computed and drawn, however long the session is."""

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from prunecli.context.labels import Key
from prunecli.context.outline import Node, Row
from prunecli.features.inspector.columns import Cells, Columns, cells_of, is_pruned
from prunecli.features.inspector.listing import Order, Rows
from prunecli.tui.transcript.palette import Inks, Palette, inks


class TreeRows(ScrollView, can_focus=True):
    """Rows under a heading, with one row marked. The screen decides what is unfolded."""

    DEFAULT_CSS = """
    TreeRows { height: 1fr; background: $background; scrollbar-size-vertical: 1; }
    TreeRows { overflow-x: hidden; overflow-y: scroll; }
    """

    class Marked(Message):
        """The message that another row was marked."""

    class Folded(Message):
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
        self.marked: Row | None = None
        """The marked row as it was when it was marked: after a change, `rows` may differ until they are rebuilt."""
        self._columns = Columns(80)
        self._by: Order = "order"
        self._drawn: dict[int, tuple[Node, Cells] | None] = {}

    def _wear(self, palette: Palette) -> None:
        self._inks = inks(palette)
        self._selected = Style(color=palette.foreground, bgcolor=palette.selection)

    def set_palette(self, palette: Palette) -> None:
        self._wear(palette)
        self.refresh()

    @property
    def page(self) -> int:
        return max(1, self.size.height - 1)

    def show(self, rows: Rows, by: Order = "order", mark: Key | None = None) -> None:
        """Show other rows and keep the mark.

        Mark the given node, or the node marked before, or else the row at the same position. After sorting, mark the
        first row.
        """
        if mark is None and self.marked:
            mark = self.marked.key
        is_resorted = by != self._by
        at = rows.place(mark) if mark else None
        if is_resorted and by != "order":
            at = 0
        self.rows, self._by = rows, by
        self._mark(max(0, min(self.at if at is None else at, len(rows) - 1)))
        self._lay_out(anew=is_resorted)
        self.scroll_into_view()

    def _mark(self, at: int) -> None:
        self.at = at
        self.marked = self.rows[at] if at < len(self.rows) else None

    def measured(self) -> None:
        self._lay_out(anew=False)

    def _lay_out(self, *, anew: bool) -> None:
        """Recompute the columns and drop the cached lines. With `anew`, columns may also shrink."""
        width = self.scrollable_content_region.width
        if anew:
            self._columns = Columns(width, self._by)
        self._drawn.clear()
        self.virtual_size = Size(width, len(self.rows) + 1)
        self._widen()
        self.refresh()

    def _widen(self) -> None:
        top = self.scroll_offset.y
        seen = [self._draw(at) for at in range(top, min(top + self.page, len(self.rows)))]
        if self._columns.widen(one[1] for one in seen if one):
            self.refresh()

    def _draw(self, at: int) -> tuple[Node, Cells] | None:
        """Return a row's node and text; None if the node is gone."""
        if at not in self._drawn:
            row = self.rows[at]
            node = self._node(row.key)
            why, wide = (node.why if node else "") or self._why(row.key), self._columns.are_wide
            self._drawn[at] = (node, cells_of(node, row, why, wide=wide)) if node else None
        return self._drawn[at]

    def on_resize(self) -> None:
        self._lay_out(anew=True)
        self.scroll_into_view()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._widen()

    def move(self, to: int) -> None:
        to = max(0, min(to, len(self.rows) - 1))
        if to != self.at:
            self._mark(to)
            self.scroll_into_view()
            self.refresh()
            self.post_message(self.Marked())

    def scroll_into_view(self) -> None:
        top = self.scroll_offset.y
        wanted = min(max(top, self.at - self.page + 1), self.at)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, force=True, immediate=True)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            style = self._inks.muted
            return Strip([Segment(self._columns.heading(), style)]).adjust_cell_length(width, style)
        at = y - 1 + self.scroll_offset.y
        if at >= len(self.rows):
            return Strip.blank(width, self._inks.text)
        drawn = self._draw(at)
        if drawn is None:
            return Strip.blank(width, self._inks.text)
        node, cells = drawn
        is_marked = at == self.at
        style = self._selected if is_marked else _ink(node, self._inks)
        line, why = self._columns.line(cells)
        segments = [Segment(line, style), Segment(why, style if is_marked else self._inks.muted)]
        return Strip(segments).adjust_cell_length(width, style)

    def on_click(self, event: events.Click) -> None:
        """Mark the clicked row; fold it on its fold sign or if already marked."""
        at = event.y - 1 + self.scroll_offset.y
        if event.y < 1 or at >= len(self.rows):
            return
        again = at == self.at
        self.move(at)
        if again and self.rows[at].unfolds:
            self.post_message(self.Folded(self.rows[at].key))


def _ink(node: Node, ink: Inks) -> Style:
    if is_pruned(node) or (node.key.kind != "turn" and node.key.seq < 0):
        return ink.muted
    if node.state in ("pinned", "restored"):
        return ink.accent
    return ink.strong if node.key.kind in ("turn", "prompt") else ink.text
