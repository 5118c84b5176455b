"""Prints a session's event stream as lines, and never overwrites a line."""

from collections.abc import Callable
from time import monotonic
from typing import assert_never

from prunecli.front.presentation.entries import Assistant, Entry, Origin, Prompt, ToolCall
from prunecli.front.presentation.entry_text import entry_lines, ours
from prunecli.front.presentation.presenter import Presenter
from prunecli.front.presentation.transcript_changes import Add, Anew, Put
from prunecli.model.events import Record
from prunecli.model.signals import (
    FileMoved,
    HooksRunning,
    Notice,
    RetryScheduled,
    SessionEvent,
    StreamDiscarded,
    StreamStarted,
    SummaryEnded,
    SummaryStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolProgress,
)
from prunecli.util.figures import in_tokens, short
from prunecli.util.sanitize import one_line, source, visible

QUIET_SECONDS = 10.0
"""Seconds without output after which a running call prints its last line."""


class PlainReader:
    """A reader that prints a session's events. Responses appear line by line, as each line completes."""

    def __init__(
        self,
        presenter: Presenter,
        out: Callable[[str], None],
        clock: Callable[[], float] = monotonic,
        moved: Callable[[FileMoved], str] = lambda moved: f"The session's file {moved.why}.",
    ) -> None:
        self._presenter = presenter
        self._out = out
        self._clock = clock
        self._moved = moved
        self._line = ""
        self._streamed = ""
        self._summary: int | None = None
        self._states: dict[int, object] = {}
        self._spoke_at = clock()

    def read(self, event: SessionEvent) -> None:
        match event:
            case SummaryStarted(tokens):
                self._summary = 0
                self._say(f"(summarizing the older part of about {in_tokens(tokens)}; Ctrl+C to stop)")
            case SummaryEnded():
                self._summary = None
            case TextDelta(text) if self._summary is not None:
                self._summary += len(text)
                self._still(f"the summary has {short(self._summary)} characters")
            case StreamDiscarded() if self._summary is not None:
                self._summary = 0
            case TextDelta(text):
                self._grow(text)
            case StreamDiscarded():
                self._discard()
            case RetryScheduled(attempt, seconds, reason):
                self._say(f"({one_line(reason)}; attempt {attempt + 1} in {seconds:.0f} s, Ctrl+C to stop)")
            case ToolProgress(_, text, now, ended):
                if not ended:
                    self._still(now or text)
            case FileMoved():
                self.notice(visible(self._moved(event)))
            case Record() | Notice():
                self._present(event)
            case StreamStarted() | ThinkingDelta() | ToolCallDelta() | HooksRunning():
                pass  # plain lines show complete messages only
            case _:
                assert_never(event)

    def _say(self, line: str) -> None:
        self._spoke_at = self._clock()
        self._out(line)

    # Streaming -----------------------------------------------------------------------------------------------

    def _grow(self, text: str) -> None:
        *whole, self._line = (self._line + text).split("\n")
        self._streamed += text
        for line in whole:
            self._say(source(line))

    def _discard(self) -> None:
        if self._streamed.strip():
            self._end_line()
            self._say("(discarded; the response starts again)")
        self._line = self._streamed = ""

    def _end_line(self) -> None:
        if self._line:
            self._say(source(self._line))
        self._line = ""

    def _still(self, text: str) -> None:
        if self._clock() - self._spoke_at >= QUIET_SECONDS:
            last = text.rstrip("\n").split("\n")[-1]
            self._say(f"  still running: {one_line(last)}")

    # Records -------------------------------------------------------------------------------------------------

    def _present(self, event: SessionEvent) -> None:
        for change in self._presenter.take(event):
            match change:
                case Add(slot, entry) | Put(slot, entry):
                    self._show(slot, entry)
                case Anew():
                    self._say("(now at another point in the session; the other messages stay in the log)")
                case _:
                    pass

    def _show(self, slot: int, entry: Entry) -> None:
        """Print a new entry or a call with a new state. Notices cover pruning marks."""
        state: object = entry.state if isinstance(entry, ToolCall) else type(entry)
        if self._states.get(slot) == state:
            return
        self._states[slot] = state
        if isinstance(entry, Assistant):
            self._finish(entry.text)
        elif not (isinstance(entry, Prompt) and entry.origin in (Origin.PROMPT, Origin.SHELL)):
            for line in entry_lines(entry):
                self._say(line)

    def _finish(self, text: str) -> None:
        if not text.strip():
            return
        if text.startswith(self._streamed):
            self._grow(text[len(self._streamed) :])
            self._end_line()
        else:
            self._discard()
            for line in entry_lines(Assistant(text)):
                self._say(line)
        self._line = self._streamed = ""

    def notice(self, text: str) -> None:
        for line in text.split("\n"):
            self._say(ours(line))
