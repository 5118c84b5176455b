"""Runs file work in a thread that is notified when its call is canceled."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def in_thread(work: Callable[[threading.Event], Result]) -> Result:
    """Run `work` in a thread. Its argument is an event that is set when the call is canceled.

    A canceled call waits until the work has ended, so that nothing is written after it returns; a second cancellation
    returns at once.
    """
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not report it as unhandled
        raise
