"""The time of records: unix milliseconds, as an argument wherever it is needed."""

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]
"""Gives the time in unix milliseconds."""


def system_clock() -> int:
    """The machine's time in unix milliseconds; it may step back, records don't."""
    return time.time_ns() // 1_000_000


def next_timestamp(now: int, last: int) -> int:
    """Strictly increasing, whatever the clock does: `max(now, last + 1)` (PRUNING.md section 1)."""
    return max(now, last + 1)
