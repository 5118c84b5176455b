"""The permission question: exactly what would run, why the user is asked, and the answers."""

from collections.abc import Sequence

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from prunecli.presentation.entries import ToolCall, ToolState
from prunecli.presentation.questions import Sheet
from prunecli.tui.messages import PermissionAnswered
from prunecli.tui.transcript.palette import Palette
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.widgets.question import KEYS_TEXT, Question, Row

MOST_ROWS = 16
_SCROLLS = {"pageup": -1, "pagedown": 1}


class PermissionPanel(Question):
    """Asks about one call. PgUp and PgDn scroll it while part of it is out of sight."""

    DEFAULT_CSS = """
    PermissionPanel {
        #what { height: auto; background: $panel; }
        #text { height: auto; }
        #change { height: 14; }
        #why, #beside { height: auto; max-height: 2; color: $muted; }
    }
    """

    def __init__(self, sheet: Sheet, palette: Palette) -> None:
        rows = [Row("1y", ("Yes",)), Row("3n", ("No, and tell the model why",))]
        kinds = ["once", "deny"]
        if sheet.rule:
            rule = "Yes, and don't ask again for ", (sheet.rule, "$code"), " in this session"
            rows.insert(1, Row("2a", rule))
            kinds.insert(1, "always")
        else:
            rows[-1] = Row("2n", rows[-1].parts)
        last = len(rows) - 1
        super().__init__(sheet.title, rows, self._say, for_text=last, leave=last)
        self._kinds = kinds
        self._sheet = sheet
        self._fitted: tuple[tuple[object, ...], int] = ((), 0)
        self._palette = palette

    def _say(self, row: int, text: str) -> None:
        self.post_message(PermissionAnswered(self._kinds[row], text))

    def compose_matter(self) -> Sequence[Widget]:
        """Yield the call and the reason for asking."""
        what = VerticalScroll(Static(self._text(), id="text"), id="what", can_focus=False)
        named = ((self._sheet.beside, "beside"), (self._sheet.reason, "why"))
        why = [Static(Content(text), id=name) for text, name in named if text]
        if self._sheet.diff is None:
            return [what, *why]
        change = Transcript(self._palette, id="change")
        change.can_focus = False
        return [what, change, *why]

    def _text(self) -> Content:
        lines = self._sheet.text.split("\n")
        if len(lines) == 1:
            return Content.styled(lines[0], "$foreground")
        digits = len(str(len(lines)))
        numbered = [
            Content.assemble((f"{number:>{digits}} ", "$muted"), (line, "$foreground"))
            for number, line in enumerate(lines, 1)
        ]
        return Content("\n").join(numbered)

    def on_mount(self) -> None:
        """Show the change."""
        diff = self._sheet.diff
        if diff:
            added, removed = diff.counts()
            shown = self.query_one("#change", Transcript)
            shown.append(
                ToolCall("change", "", ToolState.OK, f"+{added} −{removed}", body=diff, folded=False)
            )
            self.call_after_refresh(shown.home)
        if diff:
            shown.published = lambda: self.call_later(self._show)
        else:
            self.watch(self._what(), "scroll_y", self._show, init=False)
        self.screen.screen_layout_refresh_signal.subscribe(self, lambda _: self._fit())
        super().on_mount()

    def _fit(self) -> None:
        """Give the call the rows that are left, and no more than it needs."""
        if self.is_over:
            return
        room = max(1, min(MOST_ROWS, self._rows_left()))
        around = (self.screen.size, *(part.outer_size.height for part in self._around()))
        if self._fitted[0] == around:  # hint and room depend on each other, so the room only shrinks
            room = min(room, self._fitted[1])
        self._fitted = (around, room)
        if self._sheet.diff:
            self.query_one("#what").styles.max_height = 1
            shown = self.query_one("#change", Transcript)
            shown.styles.height = max(1, min(room - 1, shown.window.total))
        else:
            self.query_one("#what").styles.max_height = room
        self._show()

    def _rows_left(self) -> int:
        """Return the rows free for the call; one row of the transcript stays."""
        around = self._around()
        own = [part for part in self.children if part.id not in ("what", "change")]
        return self.screen.size.height - 1 - sum(part.outer_size.height for part in [*around, *own])

    def _around(self) -> list[Widget]:
        return [part for part in self.screen.children if part is not self and _takes_rows(part)]

    def press(self, key: str, at: float) -> bool:
        """Handle a key as `Question.press` does; PgUp and PgDn scroll the call."""
        if key in _SCROLLS and self._what().max_scroll_y > 0:
            page = max(1, self._what().size.height - 1)
            self._what().scroll_relative(y=_SCROLLS[key] * page, animate=False)
            return True
        return super().press(key, at)

    def _what(self) -> Widget:
        return self.query_one("#change" if self._sheet.diff else "#what")

    def hints(self) -> Sequence[str]:
        """Return how much is out of sight, else the key hints."""
        what = self._what()
        below = round(what.max_scroll_y - what.scroll_y)
        if below > 0:
            return (f"↓ {below} more {'line' if below == 1 else 'lines'} · PgDn to read on",)
        return ("↑ PgUp to read it again",) if what.max_scroll_y > 0 else KEYS_TEXT


def _takes_rows(part: Widget) -> bool:
    """Whether a widget has rows of its own instead of filling what is left."""
    height = part.styles.height
    return part.display and part.styles.overlay != "screen" and not (height and height.is_fraction)
