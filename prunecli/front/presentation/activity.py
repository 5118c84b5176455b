"""The agent's current activity in a word or two, derived from the stream."""

from prunecli.model.events import AssistantMessage, Event, Record, RunEnded, ToolResult, ToolStarted
from prunecli.model.signals import (
    HooksRunning,
    RetryScheduled,
    SessionEvent,
    StreamDiscarded,
    StreamStarted,
    SummaryEnded,
    SummaryStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from prunecli.util.figures import short

WAITING = "Waiting for the model"
SUMMARIZING = "Summarizing the older part"


class CurrentActivity:
    """The words for the current activity. `retry` is (seconds, reason) once a retry is scheduled, else None."""

    def __init__(self) -> None:
        self.words = ""
        self.retry: tuple[float, str] | None = None
        self._running: dict[str, str] = {}
        self._written: int | None = None

    def take(self, event: SessionEvent) -> bool:
        """Process a record or a signal; return whether the words changed."""
        before = self.words, self.retry
        match event:
            case SummaryStarted():
                self._summary(0)
            case SummaryEnded():
                self._written = None
                self._say("Working")
            case TextDelta(text) if self._written is not None:
                self._summary(self._written + len(text))
            case StreamStarted() | StreamDiscarded() | ThinkingDelta() if self._written is not None:
                self._summary(0)
            case StreamStarted() | StreamDiscarded():
                self._say(WAITING)
            case ThinkingDelta():
                self._say("Thinking")
            case TextDelta():
                self._say("Writing")
            case ToolCallDelta(_, name):
                self._say(f"Preparing {name}")
            case HooksRunning(name):
                self._say(f"Running {name} hooks") if name else self._say_running()
            case RetryScheduled(attempt, seconds, reason):
                self.words, self.retry = f"Retry {attempt}", (seconds, reason)
            case Record():
                self._record(event.event)
            case _:
                pass
        return (self.words, self.retry) != before

    def _summary(self, written: int) -> None:
        self._written = written
        self._say(SUMMARIZING + (f" · {short(written)} characters" if written else ""))

    def _say(self, words: str) -> None:
        self.words, self.retry = words, None

    def _record(self, event: Event) -> None:
        match event:
            case ToolStarted(id_, name):
                self._running[id_] = name
                self._say_running()
            case ToolResult(id_):
                if self._running.pop(id_, None) is not None:
                    self._say_running()
            case AssistantMessage() | RunEnded():
                self._running.clear()
                self._say("Working")
            case _:
                pass

    def _say_running(self) -> None:
        names = list(self._running.values())
        one = f"Running {names[0]}" if names else "Working"
        self._say(one if len(names) < 2 else f"Running {len(names)} calls")
