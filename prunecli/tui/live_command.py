"""A `!cmd` while it runs: its line in the transcript with what it says last, until the log or its end takes over."""

from dataclasses import replace
from typing import TYPE_CHECKING

from prunecli.tui.showing.present import TAIL_LINES, command_output
from prunecli.tui.showing.streaming import NOTHING
from prunecli.tui.transcript.entries import Entry, Key, Origin, Prompt, ToolCall, ToolState

if TYPE_CHECKING:
    from prunecli.tui.conversation import Conversation


UNSEEN = "the model does not see it"


class LiveCommand:
    """Shows one command from its start on."""

    def __init__(self, front: "Conversation", typed: str, *, show_model: bool) -> None:
        self._front = front
        self._about = "" if show_model else UNSEEN
        self._printed = ""
        self._typed = self._add(Prompt(typed, Origin.SHELL))
        self._output = self._add(ToolCall("output", self._about, ToolState.RUNNING))

    def progress(self, text: str) -> None:
        """Its last lines."""
        lines = text.rstrip("\n").split("\n")[-TAIL_LINES:]
        self._front.frame.transcript.set_tail(self._output, lines)

    def so_far(self, text: str) -> None:
        """What it had printed, in case it is stopped."""
        self._printed = text

    def recorded(self) -> None:
        """The log has it now, and shows it."""
        self._put(self._typed, NOTHING)
        self._put(self._output, NOTHING)

    def done(self, text: str) -> None:
        """It ended, and only the screen knows."""
        self._put(self._output, replace(command_output(text), argument=self._about))

    def failed(self, *, interrupted: bool) -> None:
        """It was stopped, which the log says where the model is to see it, or could not run."""
        if interrupted and not self._about:
            self.recorded()
            return
        stopped = replace(command_output(self._printed), state=ToolState.INTERRUPTED, outcome="")
        failed = stopped if interrupted else ToolCall("output", state=ToolState.ERROR)
        self._put(self._output, replace(failed, argument=self._about))

    def _add(self, entry: Entry) -> Key:
        key = self._front.stage.add(entry)
        self._front.frame.show_transcript()
        return key

    def _put(self, key: Key, entry: Entry) -> None:
        self._front.stage.put(key, entry)
