"""Long work on the screen's own thread, a few milliseconds at a time, so that keys stay live."""

import asyncio
from collections.abc import Iterator
from time import perf_counter

SLICE_SECONDS = 0.005
REST_SECONDS = 0.002
"""What came meanwhile is looked at between two slices: a key passes several queues before it is echoed."""


def go_on(steps: Iterator[object], seconds: float = SLICE_SECONDS) -> bool:
    """Takes steps for so long, at least one; whether the last one was taken."""
    until = perf_counter() + seconds
    return all(perf_counter() < until for _ in steps)


async def finish(steps: Iterator[object]) -> None:
    """Takes all steps, with a rest after each slice."""
    while not go_on(steps):  # noqa: ASYNC110  # nothing is waited for: others take their turn
        await asyncio.sleep(REST_SECONDS)
