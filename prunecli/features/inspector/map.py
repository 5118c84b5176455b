"""The inspector's map: the window as cells, a letter and a color for each part, with a legend below."""

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from prunecli.context.outline import USED, Part, WindowMap
from prunecli.features.inspector.words import LETTERS, legend, wraps
from prunecli.tui.widgets.fitting import Piece, fitted

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
    "free": "$muted",
    "reserve": "$muted",
}


def cell_style(part: Part) -> str:
    return _COLORS[part] if part in ("free", "reserve") else f"{_COLORS[part]} reverse"


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
            rows = 1 if height < SMALL else 2 if height < TALL else 4
            cells = self._map.cells(rows * width)
            bars = [_bar(cells[at : at + width]) for at in range(0, len(cells), width)]
            unknown = Content.styled(LETTERS["free"] * width, cell_style("free"))
            lines += bars or [unknown] * rows  # the same height as later, once the parts are known
            items = legend(self._map)
            if height < SMALL:
                items = wraps(sorted(items, key=lambda item: item[0] not in USED), width)[0]
            lines += [_legend(one) for one in wraps(items, width)]
            if height >= TALL and self._tools:
                lines.append(fitted(self._tools, (), width))
        return lines


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
