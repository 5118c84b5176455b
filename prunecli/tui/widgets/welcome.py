"""The welcome of an empty session."""

from collections.abc import Iterable

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from prunecli import __version__
from prunecli.util.paths import has_feature
from prunecli.util.sanitize import visible

HINTS = (
    ("/", "commands"),
    *((("@", "files"),) if has_feature("attachments") else ()),
    ("!", "shell command"),
    ("?", "keys"),
)
WHAT = "The coding agent whose context you can see, prune and restore."
WHAT_SHORT = "See, prune and restore the context."
TOUR = 'Type "tour" for a two-minute tour'
TOUR_IN_SHELL = "Run `prunecli demo` for a two-minute tour"
_STYLES = {"info": "$foreground", "warning": "$warning", "error": "$error"}
_MARGIN = 4
"""Cells left and right of the text, as in the style sheet."""


class Welcome(Widget):
    can_focus = False

    def __init__(self) -> None:
        super().__init__()
        self._tour = ""
        self._notices: list[Content] = []

    def show_tour(self, line: str) -> None:
        """Set the line that tells how to start the tour; "" for none."""
        self._tour = line
        self.refresh()

    def clear(self) -> None:
        self._notices.clear()
        self.refresh()

    def tell(self, text: str, level: str) -> bool:
        """Show a notice below the welcome; return False if there is no room."""
        mark = "" if level == "info" else "! "
        notice = Content.styled(mark + visible(text), _STYLES[level])
        if self._height([*self._lines(roomy=False), *self._notices, notice]) > self.size.height - 1:
            return False
        self._notices.append(notice)
        self.refresh()
        return True

    def _height(self, lines: Iterable[Content]) -> int:
        """Return the number of rows after wrapping; at worst every other cell of a wrapped row stays empty."""
        width = max(1, self.size.width - _MARGIN)
        rows = [row for line in lines for row in line.plain.split("\n")]
        return sum(1 if (cells := cell_len(row)) <= width else -(-cells * 5 // (width * 4)) for row in rows)

    def _lines(self, *, roomy: bool) -> list[Content]:
        is_wide = self.size.width >= 70
        gap = "     " if is_wide else "  "
        keys = [
            part
            for at, (key, what) in enumerate(HINTS)
            for part in ((gap if at else "", ""), (f"{key} ", "bold $accent"), (what, "$muted"))
        ]
        blank = [Content("")] if roomy else []
        return [
            Content.assemble(("prunecli", "bold $foreground"), (f"  {__version__}", "$muted")),
            Content.styled(WHAT if is_wide else WHAT_SHORT, "$muted"),
            *blank,
            Content.assemble(*keys),
            *([Content.styled(self._tour, "$muted")] if self._tour else []),
            *(blank if self._notices else []),
        ]

    def render(self) -> Content:
        lines = [*self._lines(roomy=True), *self._notices]
        if self._height(lines) >= self.size.height:
            lines = [*self._lines(roomy=False), *self._notices]
        return Content("\n").join(lines)
