"""Transient signals: what readers are told beside records, and what is not kept.

The provider's deltas (`TextDelta`, `ThinkingDelta`, `ToolCallDelta`) are passed on as they are.
"""

from dataclasses import dataclass
from typing import Literal


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
