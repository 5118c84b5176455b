"""The question before a call runs: what exactly would run, why it is asked, and the answers.

It is never answered by keys that were typed before it stood there (SEC-16): until the keyboard has been quiet for a
moment, keys go on into the prompt.
"""

from collections.abc import Callable
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from prunecli.tui.messages import PermissionAnswered
from prunecli.tui.showing.asked import Sheet
from prunecli.tui.transcript.entries import ToolCall, ToolState
from prunecli.tui.transcript.palette import Palette
from prunecli.tui.transcript.view import Transcript

QUIET_SECONDS = 0.3
MOST_ROWS = 16
OTHER_ROWS = 14
"""Rows that belong to the answers and to what else must be on the screen."""
_ONCE, _ALWAYS, _DENY = ("y", "1"), ("a", "2"), ("n", "3")


class PermissionPanel(Vertical, can_focus=True):
    """Asks about one call. `early` takes the keys that came too soon to be an answer."""

    DEFAULT_CSS = """
    PermissionPanel {
        height: auto; background: $panel; border-left: thick $warning; padding: 0 1;
        #question { height: 1; text-style: bold; color: $warning; }
        #what { height: auto; background: $panel; }
        #text { height: auto; }
        #change { height: 14; }
        #why { height: auto; color: $muted; }
        #answers { height: auto; margin-top: 1; }
        #word, #word:focus { height: 1; border: none; padding: 0; background: $surface; display: none; }
    }
    """

    def __init__(self, sheet: Sheet, palette: Palette, early: Callable[[events.Key], object]) -> None:
        super().__init__()
        self._sheet = sheet
        self._palette = palette
        self._early = early
        self._armed_at = float("inf")
        self._quiet: Any = None

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
        self.focus()
        self.call_after_refresh(self.wait_for_quiet)

    def _fit(self, shown: Transcript) -> None:
        """The change takes the rows that it needs, and is seen from its beginning."""
        shown.home()
        shown.styles.height = min(self._room() - 1, shown.window.total)

    def on_resize(self) -> None:
        """What would run takes what room there is, and leaves the answers theirs."""
        self.query_one("#what").styles.max_height = self._room()

    def _room(self) -> int:
        return max(3, min(MOST_ROWS, self.screen.size.height - OTHER_ROWS))

    def wait_for_quiet(self) -> None:
        """Takes no answer until no key came for a while."""
        self._armed_at = float("inf")
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = self.set_timer(QUIET_SECONDS, self._arm)

    def _arm(self) -> None:
        from time import monotonic

        self._armed_at = monotonic()

    def on_key(self, event: events.Key) -> None:
        """An answer, or a look at the rest of what would run."""
        if isinstance(self.screen.focused, Input):
            if event.key == "escape":
                event.stop()
                self.post_message(PermissionAnswered("deny"))
            return
        event.stop()
        event.prevent_default()
        if event.time <= self._armed_at:
            self._early(event)
            self.wait_for_quiet()
            return
        self._answer(event.key)

    def _answer(self, key: str) -> None:
        what = self.query_one("#change", Transcript) if self._sheet.diff else self.query_one("#what")
        if key in _ONCE:
            self.post_message(PermissionAnswered("once"))
        elif key in _ALWAYS and self._sheet.rule:
            self.post_message(PermissionAnswered("always"))
        elif key in _DENY:
            self._ask_for_word()
        elif key in ("escape", "ctrl+c"):
            self.post_message(PermissionAnswered("deny"))
        elif key in ("up", "down"):
            what.scroll_relative(y=-1 if key == "up" else 1, animate=False)
        elif key in ("pageup", "pagedown"):
            what.scroll_relative(y=-10 if key == "pageup" else 10, animate=False)

    def _ask_for_word(self) -> None:
        word = self.query_one("#word", Input)
        word.display = True
        self.query_one("#answers").display = False
        word.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The word is said."""
        event.stop()
        self.post_message(PermissionAnswered("deny", event.value.strip()))

    def on_paste(self, event: events.Paste) -> None:
        """A paste is no answer (TUI-08)."""
        event.stop()
