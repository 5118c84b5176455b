"""Mouse handling: selecting by dragging, words and lines by repeated clicks, scrolling at the edges."""

from dataclasses import dataclass

from textual import events
from textual.geometry import Offset
from textual.selection import Selection
from textual.timer import Timer

from prunecli.tui.transcript.canvas import Canvas
from prunecli.tui.transcript.copying import selected_text
from prunecli.tui.transcript.selection import Span, line_at, point_at, word_at

EDGE_SECONDS = 1 / 25
EVERYTHING = Span(0, 1 << 128)


@dataclass(slots=True, eq=False, repr=False)
class Drag:
    """A pressed mouse button: the point and screen row where it was pressed, and the current position of the
    mouse."""

    start: int
    start_y: int
    x: int
    y: int
    moved: bool = False
    timer: Timer | None = None


class Pointer(Canvas):
    """The part of the transcript widget that selects text.

    The selection is stored with the screen's selection, so the screen's Ctrl+C copies it. With `copy_on_select`, it
    is copied when the button is released.
    """

    copy_on_select = False

    _drag: Drag | None = None

    @property
    def selected(self) -> Span | None:
        selection = self.text_selection if self.is_attached else None
        if selection is None:
            return None
        start, end = selection
        return Span(start.y if start else EVERYTHING.start, end.y if end else EVERYTHING.end)

    def select(self, span: Span | None) -> None:
        """Select a range of text, or nothing. Does nothing once the widget has left the screen."""
        if not self.is_attached:
            return
        others = {widget: value for widget, value in self.screen.selections.items() if widget is not self}
        if span is not None and span.end > span.start:
            others = {self: Selection(Offset(0, span.start), Offset(0, span.end))}
        self.screen.selections = others

    def text_select_all(self) -> None:
        self.select(EVERYTHING)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text as written, and the separator from the text of another widget."""
        start, end = selection
        span = Span(start.y if start else EVERYTHING.start, end.y if end else EVERYTHING.end)
        if not start and self.document.count:
            span = Span((self.document.next_key - self.document.count) << 64, span.end)
        return selected_text(self.document, span), "\n"

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002
        self.refresh(self.size.region)

    def _point(self, x: int, y: int) -> int | None:
        lines = self.window.lines
        if not lines:
            return None
        if y >= len(lines):
            x, y = 1 << 16, len(lines) - 1
        return point_at(lines[max(0, y)], x)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        point = self._point(event.x, event.y)
        if event.button == 1 and point is not None:
            self._drag = Drag(point, event.y, event.x, event.y)
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        drag = self._drag
        if drag is None:
            return
        drag.x, drag.y = event.x, event.y
        self._extend(drag)
        at_edge = not 0 < event.y < self.window.height - 1 and event.y != drag.start_y
        if at_edge and drag.timer is None:
            drag.timer = self.set_interval(EDGE_SECONDS, self._scroll_at_edge)
        elif not at_edge and drag.timer is not None:
            drag.timer.stop()
            drag.timer = None

    def _extend(self, drag: Drag) -> None:
        point = self._point(drag.x, drag.y)
        if point is not None and (drag.moved or point != drag.start):
            drag.moved = True
            self.select(Span(min(drag.start, point), max(drag.start, point) + 1))

    def _scroll_at_edge(self) -> None:
        """Scroll, faster the farther the mouse is outside."""
        drag = self._drag
        if drag is not None:
            below = drag.y - (self.window.height - 1)
            self.scroll_rows(drag.y - 1 if below < 0 else below + 1)
            self._extend(drag)

    def on_mouse_up(self) -> None:
        drag, self._drag = self._drag, None
        if drag is None:
            return
        self.release_mouse()
        if drag.timer is not None:
            drag.timer.stop()
        if drag.moved:
            self._selection_made()

    def _selection_made(self) -> None:
        if self.copy_on_select and (span := self.selected):
            self.app.copy_to_clipboard(selected_text(self.document, span))

    def on_click(self, event: events.Click) -> None:
        event.prevent_default()
        if not 0 <= event.y < len(self.window.lines):
            return
        line = self.window.lines[event.y]
        if event.chain == 2:
            self.select(word_at(line, point_at(line, event.x)))
            self._selection_made()
        elif event.chain >= 3:
            self.select(line_at(self.document, line))
            self._selection_made()
        elif self.selected is None:
            self.clicked(event.x, event.y)

    def clicked(self, x: int, y: int) -> None:
        """Handle a single click on a row. For subclasses."""
