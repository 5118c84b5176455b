"""The map of the inspector: the window as cells, a letter and a colour for each part, and the legend below."""

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from prunecli.context.map import Part, WindowMap
from prunecli.tui.showing.inspected import LETTERS, legend, wraps
from prunecli.tui.widgets.fitting import Piece, fitted

_COLORS: dict[Part, str] = {
    "system": "$comment",
    "instructions": "$type",
    "tools": "$keyword",
    "user": "$accent",
    "answers": "$success",
    "results": "$warning",
    "notes": "$builtin",
    "free": "$muted",
    "reserve": "$muted",
}


def cell_style(part: Part) -> str:
    """The style of a part's cells: its letter on its colour, so that it can be read either way."""
    return _COLORS[part] if part in ("free", "reserve") else f"{_COLORS[part]} reverse"


class MapView(Widget):
    """The title line, the cells, the legend."""

    can_focus = False
    DEFAULT_CSS = "MapView { height: auto; padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__()
        self._map: WindowMap | None = None
        self._title: tuple[Sequence[Piece], Sequence[Piece]] = ((), ())

    def show(self, found: WindowMap, title: tuple[Sequence[Piece], Sequence[Piece]]) -> None:
        """Another map."""
        if (found, title) != (self._map, self._title):
            self._map, self._title = found, title
            self.refresh(layout=True)

    def render(self) -> Content:
        """The lines for the width there is."""
        width = max(1, self.size.width - 2)
        lines = [fitted(*self._title, width)]
        if self._map is not None:
            rows = 2 if self.app.size.height < 32 else 4
            cells = self._map.cells(rows * width)
            bars = [_bar(cells[at : at + width]) for at in range(0, len(cells), width)]
            lines += bars or [Content()] * rows  # the parts may not be known yet: nothing moves when they are
            lines += [_legend(items) for items in wraps(legend(self._map), width)]
        return Content("\n").join(lines)


def _bar(cells: Sequence[Part]) -> Content:
    runs: list[tuple[str, str]] = []
    for part in dict.fromkeys(cells):
        runs.append((LETTERS[part] * cells.count(part), cell_style(part)))
    return Content.assemble(*runs)


def _legend(items: Sequence[tuple[Part | None, str]]) -> Content:
    pieces: list[tuple[str, str]] = []
    for part, text in items:
        if pieces:
            pieces.append(("   ", ""))
        if part:
            pieces += [(LETTERS[part], cell_style(part)), (" ", "")]
        pieces.append((text, "$foreground" if part else "$muted"))
    return Content.assemble(*pieces)
