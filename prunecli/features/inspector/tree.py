"""The inspector's map and tree as widgets: the window as cells with a legend, and rows in columns.

Only the rows in view are computed and drawn, however long the session is.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from prunecli.context.labels import NUMBERED, Key
from prunecli.context.outline import USED, Node, Part, Row, WindowMap
from prunecli.features.inspector.inspecting import MOST_PRUNABLE, Inspecting, Order, Rows
from prunecli.features.inspector.words import LETTERS, gauge, is_pruned, legend, state_word, wraps
from prunecli.model.notes import ATTACHED
from prunecli.tui.transcript.palette import Inks, Palette, inks
from prunecli.tui.transcript.rows import clip, width_of
from prunecli.tui.widgets.fitting import Piece, fitted
from prunecli.util.figures import money, short
from prunecli.util.sanitize import one_line

SMALL, TALL = 20, 32
"""Screen heights: below the first, the map is one line; above the second, it takes more rows."""

_COLORS: dict[Part, str] = {
    "system": "$comment",
    "instructions": "$type",
    "tools": "$keyword",
    "user": "$accent",
    "answers": "$success",
    "results": "$warning",
    "notes": "$builtin",
}


class MapView(Widget):
    can_focus = False
    DEFAULT_CSS = "MapView { height: auto; padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__()
        self._map: WindowMap | None = None
        self._title: tuple[Sequence[Piece], Sequence[Piece]] = ((), ())
        self._tools: Sequence[Piece] = ()

    def show(
        self, found: WindowMap, title: tuple[Sequence[Piece], Sequence[Piece]], tools: Sequence[Piece] = ()
    ) -> None:
        """Show another map; `tools` is an extra line if there is room."""
        if (found, title, tools) != (self._map, self._title, self._tools):
            self._map, self._title, self._tools = found, title, tools
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """Return the number of lines for this width, which may differ from the drawn width."""
        return len(self._lines(max(1, width)))

    def render(self) -> Content:
        return Content("\n").join(self._lines(max(1, self.content_size.width)))

    def _lines(self, width: int) -> list[Content]:
        height = self.app.size.height
        lines = [fitted(*self._title, width)]
        if self._map is not None:
            rows = 1 if height < TALL else 3
            cells = self._map.cells(rows * width)
            bars = [_bar(cells[at : at + width]) for at in range(0, len(cells), width)]
            unknown = Content.styled("·" * width, "$muted")
            lines += bars or [unknown] * rows  # the same height as later, once the parts are known
            if height >= SMALL:
                lines.append(Content.assemble(*gauge(self._map, width)))
            items = legend(self._map)
            if height < SMALL:
                items = wraps(sorted(items, key=lambda item: item[0] not in USED), width)[0]
            lines += [_legend(wrap) for wrap in wraps(items, width)]
            if height >= TALL and self._tools:
                lines.append(fitted(self._tools, (), width))
        return lines


def _bar(cells: Sequence[Part]) -> Content:
    runs: list[tuple[str, str]] = []
    for part in dict.fromkeys(cells):
        runs.append((LETTERS[part] * cells.count(part), f"{_COLORS[part]} reverse"))
    return Content.assemble(*runs)


def _legend(items: Sequence[tuple[Part | None, str]]) -> Content:
    pieces: list[tuple[str, str]] = []
    for part, text in items:
        if pieces:
            pieces.append(("   ", ""))
        if part:
            pieces += [(LETTERS[part], f"{_COLORS[part]} reverse"), (" ", "")]
        pieces.append((text, "$foreground" if part else "$muted"))
    return Content.assemble(*pieces)


WIDE, NARROW = 110, 60
"""Screen widths: at the first, states have longer words; below the second, only essential columns are shown."""
LEAST_WHAT, LEAST_WHY = 24, 18
"""Minimum widths of label and reason; without room for both, there is no reason column."""
_GAP = 2
_ORDERED: dict[Order, str] = {"tokens": "tokens", "size": "size", "age": "age", "carried": "carried"}
_PRUNABLE = {
    "key": "key",
    "what": "what you can prune",
    "tokens": "tokens",
    "cost": "cost so far",
    "why": "why",
}
"""The columns of the first view with their headings."""


class Cells(NamedTuple):
    entry: str
    what: str
    tokens: str
    size: str
    age: str
    carried: str
    state: str
    why: str
    key: str = ""
    cost: str = ""


class Columns:
    """Column positions at a width. They only grow, so that nothing jumps while scrolling."""

    def __init__(self, width: int, by: Order = "order", *, sizes: bool = False) -> None:
        self._width = width
        ordered = _ORDERED.get(by, "")
        if width < NARROW:
            names = ["what", "tokens", *([ordered] if ordered not in ("", "tokens") else []), "state"]
        else:
            size = ["size"] if sizes or by == "size" else []
            names = ["entry", "what", "tokens", *size, "age", "carried", "state", "why"]
        self._headings = {name: name + "▾" * (name == ordered) for name in names}
        if by == "prunable":
            self._headings = _PRUNABLE
        self._needed = {name: width_of(text) for name, text in self._headings.items()}
        self._needed["why"] = 0
        self._fit()

    @property
    def are_wide(self) -> bool:
        return self._width >= WIDE

    def widen(self, rows: Iterable[Cells]) -> bool:
        """Widen the columns for these rows; return whether any column moved."""
        before = dict(self._needed)
        for row in rows:
            for name in self._headings:
                self._needed[name] = max(self._needed[name], width_of(getattr(row, name)))
        if before == self._needed:
            return False
        self._fit()
        return True

    def _fit(self) -> None:
        needed = self._needed
        fixed = sum(needed[name] + _GAP for name in self._headings if name not in ("what", "why"))
        room = max(8, self._width - fixed)
        what, why = needed["what"], needed["why"] if "why" in self._headings else 0
        both = room - _GAP
        if not why or both < min(what, LEAST_WHAT) + min(why, LEAST_WHY):
            what, why = min(what, room), 0
        elif what + why > both:
            why = min(why, max(both - what, both * 2 // 5, min(why, LEAST_WHY)))
            what = both - why
        self._widths = {**needed, "what": what, "why": why}

    def line(self, row: Cells) -> tuple[str, str]:
        return self._line({name: getattr(row, name) for name in self._headings})

    def heading(self) -> str:
        return "".join(self._line(self._headings))

    def _line(self, texts: dict[str, str]) -> tuple[str, str]:
        parts = [
            padded(text, width) if name in ("what", "state") else f"{text:>{width}}"
            for name, text in texts.items()
            if (width := self._widths[name]) and name != "why"
        ]
        why = self._widths["why"]
        return "  ".join(parts), " " * _GAP + padded(texts["why"], why) if why else ""


def padded(text: str, width: int) -> str:
    text = clip(text, width)
    return text + " " * (width - width_of(text))


def cells_of(node: Node, row: Row, why: str, *, wide: bool = True, cost: float | None = None) -> Cells:
    """Return a node as a row of the tree, with shorter words unless `wide`. `cost` is what it cost so far, in USD."""
    kind, is_numbered = node.key.kind, node.key.seq >= 0
    fold = ("▾ " if row.is_open else "▸ ") if row.unfolds else "  "
    is_said = kind in ("turn", "prompt") and is_numbered and node.state != "summary"
    mark = "❯ " if is_said and not node.label.startswith(ATTACHED) else ""
    cut = "✂ " if is_pruned(node) else ""
    what = "  " * row.depth + fold + mark + cut + one_line(node.label or "(empty)")
    is_named = kind in NUMBERED or not row.depth
    entry = str(node.key.seq) if is_named and is_numbered else ""
    tokens, size, carried = (
        short(n) if node.known else "…" for n in (node.tokens, node.original, node.carried)
    )
    state = state_word(node)
    if node.held:
        state = f"shortened ({short(node.held)} not sent)" if wide else "shortened"
    if node.again >= 0:
        state += f", shown again at {node.again}" if wide else f", see {node.again}"
    usd = "?" if cost is None else money(cost)
    return Cells(entry, what, tokens, size, str(node.age), carried, state, one_line(why), cost=usd)


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

    def __init__(self, palette: Palette, inspecting: Inspecting) -> None:
        super().__init__()
        self._wear(palette)
        self._inspecting = inspecting
        self._sizes = False
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
        is_resorted, sizes = by != self._by, self._inspecting.has_pruned
        at = rows.place(mark) if mark else None
        if is_resorted and by != "order":
            at = 0
        anew = is_resorted or sizes != self._sizes
        self.rows, self._by, self._sizes = rows, by, sizes
        self._mark(max(0, min(self.at if at is None else at, len(rows) - 1)))
        self._lay_out(anew=anew)
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
            self._columns = Columns(width, self._by, sizes=self._sizes)
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
            row, inspecting = self.rows[at], self._inspecting
            node = inspecting.node(row.key)
            if node is None:
                self._drawn[at] = None
                return None
            why, wide = node.why or inspecting.why(row.key), self._columns.are_wide
            cells = cells_of(node, row, why, wide=wide, cost=inspecting.cost(node))
            if self._by == "prunable":
                cells = cells._replace(key=f"{(at + 1) % MOST_PRUNABLE}", what=cells.what.strip())
            self._drawn[at] = node, cells
        return self._drawn[at]

    def on_resize(self) -> None:
        self._lay_out(anew=True)
        self.scroll_into_view()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._widen()

    def press(self, key: str) -> bool:
        """Move the mark by a key; return False for any other key."""
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -self.page, "pagedown": self.page}
        ends = {"home": 0, "g": 0, "end": len(self.rows), "G": len(self.rows)}
        if key in steps:
            self.move(self.at + steps[key])
        elif key in ends:
            self.move(ends[key])
        return key in steps or key in ends

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
        is_marked = at == self.at or self._is_in_range(node.key)
        style = self._selected if is_marked else _ink(node, self._inks)
        line, why = self._columns.line(cells)
        segments = [Segment(line, style), Segment(why, style if is_marked else self._inks.muted)]
        return Strip(segments).adjust_cell_length(width, style)

    def _is_in_range(self, key: Key) -> bool:
        span = self._inspecting.span(self.rows[self.at].key)
        return span is not None and key.seq >= 0 and span[0] <= key.seq <= span[1]

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
