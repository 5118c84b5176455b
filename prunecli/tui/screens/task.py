"""The transcript of a task, read-only: it follows a task that is running."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from prunecli.inspector.labels import withheld_by
from prunecli.presentation.presenter import Presenter
from prunecli.runtime import Runtime
from prunecli.runtime.counting import teller
from prunecli.runtime.toolbox import summaries
from prunecli.sanitize import one_line
from prunecli.session.session import Session
from prunecli.tui.bridge import Bridge
from prunecli.tui.messages import Wake
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.transcript_feed import TranscriptFeed

if TYPE_CHECKING:
    from prunecli.tui.app import PrunecliApp


class TaskScreen(ModalScreen[None]):
    """Shows a task until Esc."""

    DEFAULT_CSS = """
    TaskScreen {
        background: $background;
        #title { height: 1; text-style: bold; color: $accent; padding: 0 1; }
        #help { height: 1; color: $muted; padding: 0 1; }
        Transcript { height: 1fr; margin: 0 0 0 1; }
    }
    """
    inherit_bindings = False
    BINDINGS: ClassVar = []

    def __init__(self, runtime: Runtime, number: int, session: Session) -> None:
        super().__init__()
        self._runtime, self._number, self._session = runtime, number, session
        self._bridge = Bridge(lambda: self.post_message(Wake()), self.set_timer)

    def compose(self) -> ComposeResult:
        """Lay out title, transcript and keys."""
        app = cast("PrunecliApp", self.app)
        yield Static(Content(one_line(f"task {self._number} · {self._session.id} · read-only")), id="title")
        yield Transcript(app.palette)
        yield Static(
            Content("Up Down to choose · Enter to unfold · PgUp PgDn to scroll · Esc to close"), id="help"
        )

    def on_mount(self) -> None:
        """Show the transcript from its end, and follow it."""
        transcript = self.query_one(Transcript)
        transcript.copy_on_select = True
        self._feed = TranscriptFeed(transcript, self._presenter, lambda: None)
        self._bridge.follow(self._session)
        self._show_all()
        transcript.focus()
        app = cast("PrunecliApp", self.app)
        app.theme_changed_signal.subscribe(
            self, lambda _: transcript.set_palette(app.palette), immediate=True
        )

    def _presenter(self) -> Presenter:
        runtime, fold = self._runtime, self._session.context
        return Presenter(
            summaries(runtime.tools, runtime.setup.cwd),
            teller(fold),
            fold.counts.told_raw,
            partial(withheld_by, fold),
            open_thinking=runtime.config.ui.show_thinking,
        )

    def _show_all(self) -> None:
        running = any(
            one.session is self._session and not one.ended for one in self._runtime.subagents.children
        )
        self._feed.show_all(self._session.records, running=running)

    def on_wake(self, message: Wake) -> None:
        """Show what happened."""
        message.stop()
        if not self._feed.take(self._bridge.batch()):
            self._show_all()

    def on_unmount(self) -> None:
        """Stop following."""
        self._bridge.leave()

    def on_key(self, event: events.Key) -> None:
        """Esc and q close, pages scroll; the transcript handles the other keys."""
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
