"""The widget that draws the rows of a layout: scrolling, painting and the scroll bar.

Only this module uses parts of Textual that are not a stable API: `_scroll_to` as the single path of all scrolling,
reactive state set without its watchers, and `render_lines` returning strips that the compositor caches.
tests/tui/transcript/test_contract.py checks them.

Padding, borders, opacity and tint in the CSS of this widget have no effect, because it returns its own strips.
"""

from collections.abc import Callable
from typing import Any

from textual.color import Color
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from prunecli.tui.slices import once
from prunecli.tui.transcript.document import Document
from prunecli.tui.transcript.layout import WIDEST
from prunecli.tui.transcript.paint import Mark, marked, with_pill
from prunecli.tui.transcript.palette import Palette, inks
from prunecli.tui.transcript.rows import Dress, Row, WholeStrip, blank
from prunecli.tui.transcript.viewport import Line, Viewport

REFINE_SECONDS, REFINE_CHARS = 1 / 40, 3_000
"""Seconds between steps of lexing roughly colored code, and characters per step: about 8 ms each."""


def textual_color(color: str) -> Color:
    return Color.parse(color if color.startswith("#") else f"ansi_{color}")


class Canvas(ScrollView):
    """The widget that draws the rows of a document. Subclasses add marks over the rows."""

    DEFAULT_CSS = """
    Canvas {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """
    ALLOW_SELECT = False  # disables Textual's selection; ours uses points in the text
    auto_links = False

    def __init__(
        self,
        palette: Palette,
        clock: Callable[[], float],
        *,
        id: str | None = None,  # noqa: A002  # Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.document = Document(inks(palette), clock)
        self.window = Viewport(self.document.layout)
        self.palette = palette
        self.pill_label = ""
        self._pill_cells = (0, 0)
        self._stale = False
        self._thumb = (-1, -1)
        self._width = 80
        self._apply_look = Dress(inks(palette).text)
        self._blank = blank()
        self._drawn: list[Row] = []
        self._drawn_pill = ""
        self._refining = False
        self.published: Callable[[], object] = lambda: None
        """Called when the rows on the screen change. Watchers of `scroll_y` do not run."""

    def on_mount(self) -> None:
        self._wear()

    def set_palette(self, palette: Palette) -> None:
        self.palette = palette
        self.document.layout.repaint(inks(palette))
        self._wear()
        self._drawn = []  # rows without text compare equal in any colors
        self._settle()
        self.refresh()

    def remeasure(self) -> None:
        """Lay out everything again, since characters have other widths than before."""
        self.document.layout.resize(self.document.layout.sheet.width)
        self._settle()
        self.refresh()

    def _wear(self) -> None:
        background = textual_color(self.palette.background)
        thumb, thumb_grabbed = textual_color(self.palette.faint), textual_color(self.palette.muted)
        styles = self.styles
        styles.background = background
        styles.scrollbar_background = styles.scrollbar_background_hover = background
        styles.scrollbar_background_active = background
        styles.scrollbar_color = thumb
        styles.scrollbar_color_hover = styles.scrollbar_color_active = thumb_grabbed

    # -- changes

    def _touch(self) -> None:
        """Schedule one update for all changes made before the next refresh."""
        if not self._stale and self.window.height:
            self._stale = True
            self.call_later(self._settle_stale)

    def _settle_stale(self) -> None:
        if self._stale:
            self._settle()

    def _settle(self) -> None:
        self._stale = False
        if not self.window.height:
            return
        self.window.settle()
        self._moved()

    def _moved(self) -> None:
        self._noticed()
        self._publish()
        self._refresh_changed()
        if self.document.layout.rough and not self._refining:
            self._refining = True
            once(self, REFINE_SECONDS, self._refine)

    def _refresh_changed(self) -> None:
        """Redraw only the rows that look different, which is far less output than redrawing all rows."""
        rows, drawn, width = [line.row for line in self.window.lines], self._drawn, self.size.width
        changed: list[Region] = []
        for y in range(self.window.height):
            new = rows[y] if y < len(rows) else None
            old = drawn[y] if y < len(drawn) else None
            if new is not old and (new is None or old is None or not new.looks_like(old)):
                changed.append(Region(0, y, width, 1))
        if self.pill_label != self._drawn_pill:
            changed.append(Region(0, self.window.height - 1, width, 1))
        self._drawn, self._drawn_pill = rows, self.pill_label
        if self.marking or len(changed) > self.window.height // 2:
            self.refresh(self.size.region)
        elif changed:
            self.refresh(*changed)

    @property
    def marking(self) -> bool:
        """Whether equal rows may look different because of marks. For subclasses."""
        return False

    def _noticed(self) -> None:
        """React when the rows on the screen have changed. For subclasses."""

    def _refine(self) -> None:
        self._refining = False
        layout = self.document.layout
        if layout.refine(REFINE_CHARS):
            self._settle()
        elif layout.rough:
            self._refining = True
            once(self, REFINE_SECONDS, self._refine)

    def _publish(self) -> None:
        """Publish the scroll position. Set `virtual_size` without its watchers, which would lay out the whole
        screen."""
        total, offset, height = self.window.total, self.window.offset, self.window.height
        self.set_reactive(Widget.virtual_size, Size(self._width, total))
        self.set_reactive(Widget.scroll_y, float(offset))
        self.set_reactive(Widget.scroll_target_y, float(offset))
        bar = self.vertical_scrollbar
        bar.set_reactive(ScrollBar.window_virtual_size, total)
        bar.set_reactive(ScrollBar.window_size, height)
        bar.set_reactive(ScrollBar.position, float(offset))
        self.published()
        eighths = 8 * height  # the finest step the bar can draw
        thumb = eighths * offset // max(1, total), eighths * height // max(1, total, height)
        if thumb != self._thumb:
            self._thumb = thumb
            bar.refresh()

    def on_resize(self) -> None:
        self.lay_out(self.scrollable_content_region.size)  # `size` counts the scroll bar
        self.refresh(self.size.region)

    def lay_out(self, size: Size) -> None:
        """Lay out for this size, which may be an expected one: then the first frame already has the rows."""
        self.window.height = size.height
        if size.width and size.width != self._width:
            self._width = size.width
            self.document.layout.resize(min(size.width, WIDEST))
        self._settle()

    # -- scrolling

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Do nothing: the scroll position follows the rows, not the other way round."""

    def _scroll_to(self, x: float | None = None, y: float | None = None, **_: Any) -> bool:  # noqa: ARG002
        """Handle all of Textual's scrolling: wheel, bar, keys and methods. Never animated."""
        if y is None or not self.window.height:
            return False
        self._settle_stale()
        before = self.window.lines[:1]
        rows = round(y) - self.window.offset
        if rows > 0 and y >= self.max_scroll_y:
            self.window.end()
        elif abs(rows) <= 4 * self.window.height:
            self.window.move(rows)
        else:
            self.window.seek(round(y))
        self._moved()
        return before != self.window.lines[:1]

    def scroll_rows(self, rows: int) -> None:
        self._settle_stale()
        self.window.move(rows)
        self._moved()

    # -- painting

    def begin_marks(self) -> None:
        """Prepare for drawing rows. For subclasses."""

    def marks_on(self, line: Line) -> tuple[Mark, ...]:  # noqa: ARG002
        return ()

    def _strip(self, y: int) -> Strip:
        width, dress = self._width, self._apply_look
        lines = self.window.lines
        if y < len(lines):
            row = lines[y].row
            marks = self.marks_on(lines[y])
            if not marks:
                strip = row.strip(width, dress)
            else:
                key = marks, width, dress
                if row.marked is None or row.marked[0] != key:
                    row.marked = (
                        key,
                        WholeStrip(dress.on(marked(row.exactly(width, dress.plain), marks)), width),
                    )
                strip = row.marked[1]
        else:
            strip = self._blank.strip(width, dress)
        if self.pill_label and y == self.window.height - 1:
            pill = self.document.layout.sheet.inks.pill
            strip, self._pill_cells = with_pill(strip, self.pill_label, pill, dress)
        return strip

    def _prepare(self) -> None:
        filters = tuple(self.get_line_filters())
        if (
            filters != self._apply_look.filters
            or self._apply_look.plain is not self.document.layout.sheet.inks.text
        ):
            ground = textual_color(self.palette.background)
            self._apply_look = Dress(self.document.layout.sheet.inks.text, filters, ground)
        self.begin_marks()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the strips of some rows. Unchanged rows return the same objects, so their ANSI codes stay cached."""
        self._prepare()
        strips = [self._strip(y) for y in range(crop.y, crop.bottom)]
        if crop.x or crop.right < self._width:
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """Return one strip. Only Textual's hit test calls this."""
        self._prepare()
        return self._strip(y)
