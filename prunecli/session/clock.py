"""The time of records in unix milliseconds, passed as an argument wherever it is needed."""

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]
"""A function that returns the time in unix milliseconds."""


def system_clock() -> int:
    """The machine's time in unix milliseconds. It may go back; record times never do."""
    return time.time_ns() // 1_000_000


def next_timestamp(now: int, last: int) -> int:
    """The next strictly increasing timestamp, whatever the clock does: `max(now, last + 1)`."""
    return max(now, last + 1)
