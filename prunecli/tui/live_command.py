"""A running `!cmd`: its line in the transcript with its latest output, until the log record replaces it."""

from dataclasses import replace

from prunecli.presentation.entries import Origin, Prompt, ToolCall, ToolState
from prunecli.presentation.presenter import TAIL_LINES, command_output
from prunecli.presentation.streaming import NOTHING
from prunecli.tui.transcript_feed import TranscriptFeed

UNSEEN = "not shown to the model"


class LiveCommand:
    """The live rows of one command."""

    def __init__(self, feed: TranscriptFeed, typed: str, *, show_model: bool) -> None:
        self._feed = feed
        self._about = "" if show_model else UNSEEN
        self._printed = ""
        self._typed = feed.add(Prompt(typed, Origin.SHELL))
        self._output = feed.add(ToolCall("output", self._about, ToolState.RUNNING))

    def progress(self, text: str) -> None:
        """Show the last lines of output."""
        lines = text.rstrip("\n").split("\n")[-TAIL_LINES:]
        self._feed.set_tail(self._output, lines)

    def so_far(self, text: str) -> None:
        """Remember the output so far, in case the command is stopped."""
        self._printed = text

    def recorded(self) -> None:
        """Remove the live rows, because the log now shows the command."""
        self._feed.put(self._typed, NOTHING)
        self._feed.put(self._output, NOTHING)

    def done(self, text: str) -> None:
        """Show the final output of a command that is not in the log."""
        self._feed.put(self._output, replace(command_output(text), argument=self._about))

    def failed(self, *, interrupted: bool) -> None:
        """Show that the command was stopped or could not run. A stopped command that the model can see is in the
        log."""
        if interrupted and not self._about:
            self.recorded()
            return
        stopped = replace(command_output(self._printed), state=ToolState.INTERRUPTED, outcome="")
        failed = stopped if interrupted else ToolCall("output", state=ToolState.ERROR)
        self._feed.put(self._output, replace(failed, argument=self._about))
