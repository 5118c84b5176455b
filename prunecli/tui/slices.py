"""Long work on the UI thread, a few milliseconds at a time, so that keys stay responsive."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from time import monotonic, perf_counter

from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

SLICE_SECONDS = 0.005
REST_SECONDS = 0.002
"""Seconds to rest between slices: a key passes through several queues before it is echoed."""

PACE_SECONDS = 0.004
"""Maximum seconds to hold the event loop: a key takes several turns of the loop to reach the screen."""
TYPING_SECONDS = 0.25
"""Seconds after a key during which the user is considered to be typing."""
GIVE_WAY_SECONDS = 0.006


def go_on(steps: Iterator[object], seconds: float = SLICE_SECONDS) -> bool:
    """Run at least one step, then more until the time is used up; return whether all work is done."""
    until = perf_counter() + seconds
    return all(perf_counter() < until for _ in steps)


def ended(task: "asyncio.Task[None]") -> None:
    """Raise what a task raised that nobody may be waiting for: as a task's callback, this ends the program as an
    exception of any handler does, instead of a line that the garbage collector logs."""
    if not task.cancelled():
        task.result()


async def finish(steps: Iterator[object]) -> None:
    """Run all steps, resting after each slice."""
    while not go_on(steps):  # noqa: ASYNC110  # does not wait for a condition, only yields
        await asyncio.sleep(REST_SECONDS)


def once(pump: MessagePump, seconds: float, work: Callable[[], object]) -> Timer:
    """Call `work` after this time, like a `set_timer` that never fails.

    Textual 8 never calls `work` if the process was held up for longer than `seconds` just as the timer began.
    """
    timer = pump.set_timer(seconds, work)
    timer._skip = False
    return timer


async def painted(widget: Widget) -> None:
    done = asyncio.Event()
    widget.call_after_refresh(done.set)
    await done.wait()


class Pace:
    """The pacing of long work: decides when to yield to the event loop. `typed_at` returns the time of the last
    key."""

    def __init__(self, typed_at: Callable[[], float]) -> None:
        self._typed_at = typed_at
        self._until = monotonic() + PACE_SECONDS

    async def rest(self) -> None:
        await asyncio.sleep(GIVE_WAY_SECONDS)
        self._until = monotonic() + PACE_SECONDS

    async def breathe(self) -> bool:
        """Yield to the event loop if it is time, and then return True. Call this after each step."""
        if monotonic() < self._until:
            return False
        gc.freeze()  # records stay in memory, and scanning all of them for garbage would delay a key
        typing = monotonic() - self._typed_at() < TYPING_SECONDS
        await asyncio.sleep(GIVE_WAY_SECONDS if typing else 0)
        self._until = monotonic() + PACE_SECONDS
        return True

    async def take(self, steps: Iterator[object]) -> None:
        for _ in steps:
            await self.breathe()


class Between:
    """Background work of one screen, by name. New work cancels older work of the same name."""

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self._under_way: set[str] = set()

    @property
    def is_busy(self) -> bool:
        return bool(self._under_way)

    def do(self, name: str, steps: Iterator[object], then: Callable[[], object]) -> None:
        """Run all steps, then `then`. Cancels unfinished work of this name."""
        self._screen.workers.cancel_group(self._screen, name)
        if go_on(steps):
            self._under_way.discard(name)
            then()
        else:
            self._under_way.add(name)
            self._screen.run_worker(self._later(name, steps, then), group=name)

    async def _later(self, name: str, steps: Iterator[object], then: Callable[[], object]) -> None:
        await finish(steps)
        self._under_way.discard(name)
        then()
