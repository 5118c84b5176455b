"""The permission question: exactly what would run, why the user is asked, and the answers."""

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from prunecli.presentation.entries import Notice, ToolCall, ToolState
from prunecli.presentation.questions import Sheet
from prunecli.tui.messages import PermissionAnswered
from prunecli.tui.transcript.palette import Palette
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.widgets.long_question import LongQuestion
from prunecli.tui.widgets.question import KEYS_TEXT, Row

MOST_CHARS = 90
"""A longer reason or rule is cut where it stands, and shown in full below the call."""


class PermissionPanel(LongQuestion):
    """Asks about one call."""

    DEFAULT_CSS = """
    PermissionPanel {
        #change { height: 14; }
        #why, #beside, #covers { height: auto; max-height: 2; color: $muted; }
    }
    """

    keys = KEYS_TEXT

    def __init__(self, sheet: Sheet, palette: Palette) -> None:
        rows = [Row("1y", ("Yes",)), Row("4n", ("No, and tell the model why",))]
        kinds = ["once", "deny"]
        if sheet.rule:
            rule = "Yes, and don't ask again for ", (_short(sheet.rule), "$code"), " until you quit"
            rows[1:1] = [Row("2a", rule), Row("3p", ("Yes, always in this project",))]
            kinds[1:1] = ["always", "project"]
        else:
            rows[-1] = Row("2n", rows[-1].parts)
        last = len(rows) - 1
        super().__init__(sheet.title, rows, self._say, for_text=last, leave=last)
        self._kinds = kinds
        self._sheet = sheet
        self._palette = palette
        self._covers = f"Covers {sheet.covers}" if sheet.covers else ""
        named = (("Why", sheet.reason), ("The rule", sheet.rule), ("", self._covers))
        self._rest = [f"{name}: {text}".removeprefix(": ") for name, text in named if _short(text) != text]
        self.text = self._text()

    def _say(self, row: int, text: str) -> None:
        self.post_message(PermissionAnswered(self._kinds[row], text))

    def compose_matter(self) -> Sequence[Widget]:
        """Yield the call and the reason for asking."""
        named = (
            (self._sheet.beside, "beside"),
            (_short(self._sheet.reason), "why"),
            (_short(self._covers), "covers"),
        )
        why = [Static(Content(text), id=name) for text, name in named if text]
        if self._sheet.diff is None:
            return [*super().compose_matter(), *why]
        change = Transcript(self._palette, id="change")
        change.can_focus = False
        return [change, *why]

    def _text(self) -> Content:
        lines = self._sheet.text.split("\n")
        digits = len(str(len(lines)))
        numbered = [
            Content.assemble(
                (f"{number:>{digits}} " if len(lines) > 1 else "", "$muted"), (line, "$foreground")
            )
            for number, line in enumerate(lines, 1)
        ]
        return Content("\n").join([*numbered, *(Content.styled(text, "$muted") for text in self._rest)])

    def follow(self) -> None:
        """Show the change."""
        diff = self._sheet.diff
        if diff is None:
            super().follow()
            return
        added, removed = diff.counts()
        shown = self.query_one("#change", Transcript)
        outcome = f"+{added} −{removed}"
        shown.append(ToolCall("change", self._sheet.text, ToolState.OK, outcome, body=diff, folded=False))
        for text in self._rest:
            shown.append(Notice(text))
        self.call_after_refresh(shown.home)
        shown.published = lambda: self.call_later(self._show)

    def fit(self, room: int) -> None:
        """Give the call the rows that are left, and no more than it needs."""
        if self._sheet.diff is None:
            super().fit(room)
        else:
            shown = self.query_one("#change", Transcript)
            shown.styles.height = max(1, min(room, shown.window.total))

    def what(self) -> Widget:
        """The part that scrolls."""
        return self.query_one("#change" if self._sheet.diff else "#what")


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"
