"""The search line of the transcript."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.widgets.editor import Field

KEYS = ("Enter for previous · Down for next · Esc to close", "Enter · Down · Esc", "Enter Down")
NOT_FOUND = ("No matches · Esc to close", "No matches")
"""The notes, longest first."""
REST_CELLS = 30
"""Cells that a note leaves for the field and what is around it."""


class SearchBar(Horizontal):
    """A search line that searches while the user types. Closing it returns the focus."""

    DEFAULT_CSS = """
    SearchBar {
        height: 1; background: $panel; padding: 0 1;
        Input, Input:focus { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
        .label { width: auto; color: $accent; }
        .note { width: auto; color: $muted; }
    }
    """

    def __init__(self, transcript: Transcript, back_to: Widget) -> None:
        super().__init__()
        self._transcript = transcript
        self._back_to = back_to
        self._note: tuple[str, ...] = KEYS

    def compose(self) -> ComposeResult:
        yield Static("find ", classes="label")
        yield Field(self._transcript.searching)
        yield Static("", classes="note")

    def on_mount(self) -> None:
        self.focus_field()
        self._say(KEYS)

    def focus_field(self) -> None:
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._transcript.search(event.value)
        if not event.value:
            self._say(KEYS)

    def found(self, message: Transcript.Searched) -> None:
        self._say(KEYS if message.found else NOT_FOUND)

    def on_resize(self) -> None:
        self._say(self._note)

    def _say(self, forms: tuple[str, ...]) -> None:
        self._note, room = forms, self.screen.size.width - REST_CELLS
        text = next((form for form in forms if len(form) <= room), forms[-1])
        self.query_one(".note", Static).update(Content(f"  {text}"))

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "enter" | "up" | "shift+tab":
                self._transcript.search_previous()
            case "down" | "tab" | "ctrl+f":
                self._transcript.search_next()
            case "escape":
                self._transcript.search("")
                self._back_to.focus()
                self.remove()
            case "pageup":
                self._transcript.page_up()
            case "pagedown":
                self._transcript.page_down()
            case _:
                return
        event.stop()
        event.prevent_default()
