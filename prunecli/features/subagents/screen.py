"""The read-only transcript of a task. It follows a running task."""

from functools import partial

from prunecli.features.subagents.part import Tasks
from prunecli.front.presentation.presenter import Presenter, presenter_of
from prunecli.runtime import Runtime
from prunecli.session.session import Session
from prunecli.tui.bridge import Bridge
from prunecli.tui.messages import Wake
from prunecli.tui.screens.reading import ReadingScreen
from prunecli.tui.slices import once
from prunecli.tui.transcript.transcript_view import Transcript
from prunecli.tui.transcript_feed import TranscriptFeed
from prunecli.util.sanitize import one_line


class TaskScreen(ReadingScreen):
    keys = "Up Down to choose · Enter to unfold · PgUp PgDn to scroll · Esc to close"

    def __init__(self, runtime: Runtime, number: int, session: Session) -> None:
        super().__init__()
        self._runtime, self._number, self._session = runtime, number, session
        self._bridge = Bridge(lambda: self.post_message(Wake()), partial(once, self))

    @property
    def heading(self) -> str:
        return one_line(f"task {self._number} · {self._session.id} · read-only")

    def fill(self, transcript: Transcript) -> None:
        self._feed = TranscriptFeed(transcript, self._presenter, lambda: None)
        self._bridge.follow(self._session)
        self._show_all()

    def _presenter(self) -> Presenter:
        is_open = self._runtime.config.ui.show_thinking
        return presenter_of(self._runtime, self._session.context, open_thinking=is_open)

    def _show_all(self) -> None:
        running = any(
            one.session is self._session and not one.ended
            for one in self._runtime.parts.of(Tasks).subagents.children
        )
        self._feed.show_all(self._session.records, running=running)

    def on_wake(self, message: Wake) -> None:
        message.stop()
        if not self._feed.take(self._bridge.batch()):
            self._show_all()

    def on_unmount(self) -> None:
        self._bridge.leave()
