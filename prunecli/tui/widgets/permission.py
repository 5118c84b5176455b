"""The question before a call runs: what exactly would run, why it is asked, and the answers."""

from collections.abc import Callable
from functools import partial

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from prunecli.tui.messages import PermissionAnswered
from prunecli.tui.showing.asked import Sheet
from prunecli.tui.transcript.entries import ToolCall, ToolState
from prunecli.tui.transcript.palette import Palette
from prunecli.tui.transcript.view import Transcript
from prunecli.tui.widgets.question import Question

MOST_ROWS = 16
OTHER_ROWS = 14
"""Rows that belong to the answers and to what else must be on the screen."""
MORE = "Up, Down, PgUp and PgDn show the rest of it"
_LOOKS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}


class PermissionPanel(Question):
    """Asks about one call. `early` takes the keys that came too soon to be an answer."""

    DEFAULT_CSS = """
    PermissionPanel {
        #what { height: auto; background: $panel; }
        #text { height: auto; }
        #change { height: 14; }
        #why { height: auto; color: $muted; }
    }
    """

    def __init__(self, sheet: Sheet, palette: Palette, early: Callable[[events.Key], object]) -> None:
        super().__init__(early)
        self._sheet = sheet
        self._palette = palette
        self.answers = {
            **dict.fromkeys(("y", "1"), lambda: self._say("once")),
            **(dict.fromkeys(("a", "2"), lambda: self._say("always")) if sheet.rule else {}),
            **dict.fromkeys(("n", "3"), self.ask_for_word),
            **dict.fromkeys(("escape", "ctrl+c"), lambda: self._say("deny")),
            **{key: partial(self._scroll, rows) for key, rows in _LOOKS.items()},
        }
        self.hint = lambda: MORE if self._what().max_scroll_y > 0 else ""

    def compose(self) -> ComposeResult:
        """Question, what would run, why, answers."""
        sheet = self._sheet
        yield Static(Content(sheet.title), id="question")
        with VerticalScroll(id="what", can_focus=False):
            yield Static(self._text(), id="text")
            if sheet.diff:
                yield Transcript(self._palette, id="change")
        if sheet.reason:
            yield Static(Content(f"Asked because: {sheet.reason}"), id="why")
        yield Static(id="ready")
        yield Static(self._answers(), id="answers")
        yield Input(placeholder="a word to the model, or nothing · Enter sends", id="word")

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

    def _answers(self) -> Content:
        rows = [Content.assemble(("y", "bold $accent"), "  allow once")]
        if self._sheet.rule:
            always = ("a", "bold $accent"), "  allow for this session: ", (self._sheet.rule, "$code")
            rows.append(Content.assemble(*always))
        deny = (
            ("n", "bold $accent"),
            "  deny, with a word to the model     ",
            ("Esc", "bold $accent"),
            "  deny",
        )
        return Content("\n").join([*rows, Content.assemble(*deny)])

    def on_mount(self) -> None:
        """Shows the change; the quiet begins when it is on the screen."""
        diff = self._sheet.diff
        if diff:
            added, removed = diff.counts()
            shown = self.query_one("#change", Transcript)
            shown.append(
                ToolCall("change", "", ToolState.OK, f"+{added} −{removed}", body=diff, folded=False)
            )
            self.call_after_refresh(self._fit, shown)
        super().on_mount()

    def _fit(self, shown: Transcript) -> None:
        """The change takes the rows that it needs, and is seen from its beginning."""
        shown.home()
        shown.styles.height = min(self._room() - 1, shown.window.total)

    def on_resize(self) -> None:
        """What would run takes what room there is, and leaves the answers theirs."""
        self.query_one("#what").styles.max_height = self._room()

    def _room(self) -> int:
        return max(3, min(MOST_ROWS, self.screen.size.height - OTHER_ROWS))

    def _say(self, kind: str, word: str = "") -> None:
        self.post_message(PermissionAnswered(kind, word))

    def _scroll(self, rows: int) -> None:
        """A look at the rest of what would run."""
        self._what().scroll_relative(y=rows, animate=False)

    def _what(self) -> Widget:
        return self.query_one("#change" if self._sheet.diff else "#what")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The word is said."""
        event.stop()
        self._say("deny", event.value.strip())
