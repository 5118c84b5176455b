"""Completes new events before they are recorded: valid text, the cost of a prune, and a timestamp."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from prunecli.context.impact import with_forecast
from prunecli.context.state import Context
from prunecli.model.codec import well_formed
from prunecli.model.events import Event, PrunApplied, UserMessage
from prunecli.model.messages import Text

Clock: TypeAlias = Callable[[], int]
"""A function that returns the time in unix milliseconds."""


def completed(event: Event, context: Context) -> Event:
    """Return the event to record: user text made valid, and a prune with the number of thinking blocks it costs."""
    if isinstance(event, UserMessage):
        return _well_formed(event)
    if isinstance(event, PrunApplied):
        return with_forecast(context, event)
    return event


def _well_formed(event: UserMessage) -> UserMessage:
    """Replace bytes that are not valid text, as only typed text may have."""
    texts = [block for block in event.content if isinstance(block, Text)]
    if all(well_formed(block.text) is block.text for block in texts):
        return event
    clean = (Text(well_formed(one.text)) if isinstance(one, Text) else one for one in event.content)
    return replace(event, content=tuple(clean))


def system_clock() -> int:
    """Return the machine's time in unix milliseconds. The clock may be set back; record times only increase."""
    return time.time_ns() // 1_000_000


def next_timestamp(now: int, last: int) -> int:
    """Return the next strictly increasing timestamp, even if the clock runs backward: `max(now, last + 1)`."""
    return max(now, last + 1)
