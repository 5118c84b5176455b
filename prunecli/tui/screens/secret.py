"""A masked input line for an API key."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from prunecli.sanitize import one_line
from prunecli.tui.screens.dialog import Dialog
from prunecli.tui.widgets.editor import Field


class SecretScreen(Dialog[str | None]):
    """A masked input that returns the line, or None. The line is never stored in history or draft."""

    DEFAULT_CSS = """
    SecretScreen {
        align: center bottom; background: $background 0%;
        #box { width: 100%; height: auto; background: $panel; border-top: solid $accent; padding: 0 1; }
        #title { height: 1; text-style: bold; color: $foreground; }
        Input, Input:focus { height: 1; border: none; padding: 0; background: $panel; }
        #help { height: 1; color: $muted; margin: 1 0 0 0; }
    }
    """
    inherit_bindings = False
    BINDINGS: ClassVar = []

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(Content(one_line(self._title)), id="title")
            yield Field(password=True, submits=True, first=self._press)
            yield Static(Content("Enter to save · Esc to cancel"), id="help")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)

    def _press(self, event: events.Key) -> bool:
        if event.key not in ("escape", "ctrl+c"):
            return False
        self.dismiss(None)
        return True
