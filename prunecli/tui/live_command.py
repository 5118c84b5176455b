"""A running `!cmd`: its line in the transcript with its latest output, until the log record replaces it."""

from dataclasses import replace

from prunecli.model.events import Record, UserMessage
from prunecli.model.messages import Text
from prunecli.model.signals import SessionEvent
from prunecli.presentation.entries import Origin, Prompt, ToolCall, ToolState
from prunecli.presentation.presenter import TAIL_LINES, command_output
from prunecli.presentation.streaming import NOTHING
from prunecli.session.running_call import USER_COMMAND
from prunecli.session.session import Session
from prunecli.tui.transcript_feed import TranscriptFeed

UNSEEN = "not shown to the model"
UNSAVED = "not saved yet"


class LiveCommand:
    """The live rows of one command."""

    def __init__(self, feed: TranscriptFeed, session: Session, typed: str, *, show_model: bool) -> None:
        self._feed = feed
        self._about = "" if show_model else UNSEEN
        self._printed: str | None = None
        self._removed = False
        self._key = f"{USER_COMMAND}{typed}"
        self._leave = session.subscribe(self._hear)
        self._typed = feed.add(Prompt(typed, Origin.SHELL))
        self._output = feed.add(ToolCall("output", self._about, ToolState.RUNNING))

    def progress(self, text: str) -> None:
        lines = text.rstrip("\n").split("\n")[-TAIL_LINES:]
        self._feed.set_tail(self._output, lines)

    def so_far(self, text: str) -> None:
        """Remember the output so far, in case the command is stopped or its output can't be recorded."""
        self._printed = text

    def _hear(self, event: SessionEvent) -> None:
        match event:
            case Record(event=UserMessage((Text(self._key), *_), "command")) if not self._about:
                self.remove()
            case _:
                pass

    def remove(self) -> None:
        """Remove the live rows, because the log now shows the command or it did not run."""
        self._leave()
        self._removed = True
        self._feed.put(self._typed, NOTHING)
        self._feed.put(self._output, NOTHING)

    def done(self, text: str) -> None:
        self._leave()
        self._feed.put(self._output, replace(command_output(text), argument=self._about))

    def unsaved(self) -> bool:
        """Show the output of a command that could not be recorded, until it is. Return False if it did not run."""
        if self._printed is None:
            self.remove()
        elif not self._removed:
            self._feed.put(self._output, replace(command_output(self._printed), argument=UNSAVED))
        return self._printed is not None

    def failed(self, *, interrupted: bool) -> None:
        """Show that the command was stopped or could not run. A stopped command that the model can see is in the
        log."""
        if interrupted and not self._about:
            self.remove()
            return
        self._leave()
        stopped = replace(command_output(self._printed or ""), state=ToolState.INTERRUPTED, outcome="")
        failed = stopped if interrupted else ToolCall("output", state=ToolState.ERROR)
        self._feed.put(self._output, replace(failed, argument=self._about))
