"""A read-only screen with a title, a transcript and a line of keys, shown until Esc."""

from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from prunecli.tui.screens.dialog import Dialog
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.widgets.fitting import last_keys

if TYPE_CHECKING:
    from prunecli.tui.app import PrunecliApp


class ReadingScreen(Dialog[None]):
    """A screen with a title, a transcript and a line of keys. A subclass fills the transcript in `fill`."""

    DEFAULT_CSS = """
    ReadingScreen {
        background: $background;
        #title { height: 1; text-style: bold; color: $accent; padding: 0 1; }
        #help { height: 1; color: $muted; padding: 0 1; }
        Transcript { height: 1fr; margin: 0 0 0 1; }
    }
    """
    keys = ""
    """The line of keys."""

    @property
    def heading(self) -> str:
        raise NotImplementedError

    def fill(self, transcript: Transcript) -> None:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield Static(Content(self.heading), id="title")
        yield Transcript(cast("PrunecliApp", self.app).palette)
        yield Static(id="help")

    def on_mount(self) -> None:
        transcript, app = self.query_one(Transcript), cast("PrunecliApp", self.app)
        transcript.copy_on_select = True
        self.fill(transcript)
        transcript.focus()
        app.theme_changed_signal.subscribe(
            self, lambda _: transcript.set_palette(app.palette), immediate=True
        )

    def on_resize(self) -> None:
        self.query_one("#help", Static).update(Content(last_keys(self.keys, self.size.width - 2)))

    def on_key(self, event: events.Key) -> None:
        """Handle a key: Esc and q close, PgUp and PgDn scroll; the transcript handles the others."""
        transcript = self.query_one(Transcript)
        match event.key:
            case "escape" | "q" | "ctrl+c":
                self.dismiss(None)
            case "pageup":
                transcript.page_up()
            case "pagedown":
                transcript.page_down()
            case "home" | "g":
                transcript.home()
            case "end" | "G":
                transcript.end()
            case _:
                return
        event.stop()
        event.prevent_default()
