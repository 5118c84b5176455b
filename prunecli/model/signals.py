"""The stream of a session: records, which are kept, and signals, which are not.

`SessionEvent` is closed: a reader that has to handle each kind ends its match with `assert_never`, so the type check
finds every place where a new kind is missing.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from prunecli.model.events import Record


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More words of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A tool call is being written: `json` is the next piece of its input, "" when the call begins."""

    id: str
    name: str
    json: str = ""


@dataclass(frozen=True, slots=True)
class StreamStarted:
    """A request is on its way."""


@dataclass(frozen=True, slots=True)
class StreamDiscarded:
    """The stream failed: what it showed so far will be said again, or not at all."""


@dataclass(frozen=True, slots=True)
class SummaryStarted:
    """The older part of the session is being summarised: up to `SummaryEnded` what streams is the summary.

    `tokens` is the size of the context that it will make smaller, `focus` what the user asked it to keep.
    """

    tokens: int
    focus: str = ""


@dataclass(frozen=True, slots=True)
class SummaryEnded:
    """No summary is being written any more. What came of it is told next: a record, a notice, or an end."""


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """The request failed and is sent again after `seconds`; `attempt` counts from 1."""

    attempt: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """The last lines of a running call."""

    tool_use_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know, in one line."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class FileMoved:
    """The session goes on in another file, because of what happened to its own; `why` completes "the file ..."."""

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
"""What happens now and is not kept."""

SessionEvent: TypeAlias = Record | Signal
"""What a session tells its readers: a record once it is in the file, or a signal."""
