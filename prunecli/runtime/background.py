"""Tasks that run beside the others. Each is owned until it ends, and its failure is told in one line.

Otherwise asyncio would keep only a weak reference, and log the failure whenever the task is finalized.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from prunecli.util.errors import PrunecliError
from prunecli.util.sanitize import one_line


class Background:
    """The background tasks of one part of a runtime. `failed` is called with a line for each failure."""

    def __init__(self, failed: Callable[[str], object]) -> None:
        self._failed = failed
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task. Raises RuntimeError without a running event loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            kind = "" if isinstance(error, PrunecliError) else f"{type(error).__name__}: "
            self._failed(one_line(f"work in the background failed: {kind}{error}")[:300])

    async def finish(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self.finish()
