"""The stream of a session: records, which are kept, and signals, which are not.

`SessionEvent` is closed: a reader that handles each kind ends its match with `assert_never`, so that the type checker
finds every place where a new kind is missing.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from prunecli.model.events import Record


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More text of the thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A tool call is being written: `json` is the next piece of its input, "" when the call begins."""

    id: str
    name: str
    json: str = ""


@dataclass(frozen=True, slots=True)
class StreamStarted:
    """A request was sent."""


@dataclass(frozen=True, slots=True)
class StreamDiscarded:
    """The stream failed: its output so far will be repeated or discarded."""


@dataclass(frozen=True, slots=True)
class SummaryStarted:
    """A summary is being written: until `SummaryEnded` the stream is the summary.

    `tokens` is the context size before it, and `focus` the user's wish for its content.
    """

    tokens: int
    focus: str = ""


@dataclass(frozen=True, slots=True)
class SummaryEnded:
    """The summary has ended. Its outcome follows: a record, a notice, or an end."""


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """The request failed and will be sent again after `seconds`; `attempt` counts from 1."""

    attempt: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """The last output lines of a running call; `now` is the current activity of a task, "" for other calls."""

    tool_use_id: str
    text: str
    now: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A one-line notice to the user."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class FileMoved:
    """The session continues in another file because its own changed; `why` completes "the file ..."."""

    why: str
    path: Path


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
)
"""Events that are shown but not recorded."""

SessionEvent: TypeAlias = Record | Signal
"""A session's event for its readers: a record once it is in the file, or a signal."""
