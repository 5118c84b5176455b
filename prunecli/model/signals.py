"""The stream of a session: records, which are kept, and signals, which are not.

`SessionEvent` is closed: a reader that handles each kind ends its match with `assert_never`, so that the type checker
finds every place where a new kind is missing.
"""

from pathlib import Path
from typing import Literal, TypeAlias

from prunecli.model.events import Record
from prunecli.util.frozen import frozen


@frozen
class TextDelta:
    """More text of the answer."""

    text: str


@frozen
class ThinkingDelta:
    """More text of the thinking."""

    text: str


@frozen
class ToolCallDelta:
    """A tool call is being written: `json` is the next piece of its input, "" when the call begins."""

    id: str
    name: str
    json: str = ""


@frozen
class StreamStarted:
    """A request was sent."""


@frozen
class StreamDiscarded:
    """The stream failed: its output so far will be repeated or discarded."""


@frozen
class SummaryStarted:
    """A summary is being written: until `SummaryEnded` the stream is the summary.

    `tokens` is the context size before it, and `focus` what the user asked it to cover.
    """

    tokens: int
    focus: str = ""


@frozen
class SummaryEnded:
    """The summary has ended. Its outcome follows: a record, a notice, or an end."""


@frozen
class RetryScheduled:
    """The request failed and will be sent again after `seconds`; `attempt` counts from 1."""

    attempt: int
    seconds: float
    reason: str


@frozen
class ToolProgress:
    """The last output lines of a running call; `now` is the current activity of a task, "" for other calls.

    `ended` is the reason of a `RunEnded`, or "error", while a task that has ended waits for the calls before it.
    """

    tool_use_id: str
    text: str
    now: str = ""
    ended: str = ""


@frozen
class Notice:
    """A one-line notice to the user."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


@frozen
class FileMoved:
    """The session continues in another file because its own changed; `why` completes "the file ..."."""

    why: str
    path: Path


@frozen
class HooksRunning:
    """The agent waits for the hooks of this event; "" once they have ended."""

    event: str


Signal: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ToolCallDelta
    | StreamStarted
    | StreamDiscarded
    | SummaryStarted
    | SummaryEnded
    | RetryScheduled
    | ToolProgress
    | Notice
    | FileMoved
    | HooksRunning
)
"""Events that are shown but not recorded."""

SessionEvent: TypeAlias = Record | Signal
"""A session's event for its readers: a record once it is in the file, or a signal."""
