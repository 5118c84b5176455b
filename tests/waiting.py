"""Waiting for what a test expects: looked at again and again, and a failure once that took too long."""

import asyncio
import time
from collections.abc import Callable

DEADLINE = 60.0
"""Seconds after which something counts as never met: many times what a busy machine takes."""
PAUSE = 0.005
"""Seconds from one look to the next."""


def _met(condition: Callable[[], object], end: float, failure: Callable[[], str]) -> bool:
    if condition():
        return True
    assert time.monotonic() < end, failure()
    return False


def _never() -> str:
    return "what was waited for did not happen"


async def until(
    condition: Callable[[], object], failure: Callable[[], str] = _never, *, within: float = DEADLINE
) -> None:
    """Lets the loop work until something is so. Fails after so many seconds, with what `failure` says."""
    end = time.monotonic() + within
    while not _met(condition, end, failure):
        await asyncio.sleep(PAUSE)


def wait_until(
    condition: Callable[[], object],
    failure: Callable[[], str] = _never,
    *,
    within: float = DEADLINE,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """As `until`, where no loop runs. `pause` is what is done for so many seconds from one look to the next."""
    end = time.monotonic() + within
    while not _met(condition, end, failure):
        pause(PAUSE)
