"""Waiting for what a test expects: looked at again and again, and a failure once that took too long. And waiting for
a time limit, which takes no time."""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
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


class _Selector(selectors.DefaultSelector):
    """Once `jumps` is set, a loop that has nothing to do before its next timer does not wait for it: `ahead` seconds
    of its clock have passed so."""

    def __init__(self) -> None:
        super().__init__()
        self.jumps, self.ahead = False, 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if not self.jumps or not timeout:
            return super().select(timeout)
        if not (found := super().select(0)):
            self.ahead += timeout
        return found


class ClockLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock goes on by itself after `jump`, from timer to timer: time limits of minutes pass at
    once, and a busy machine lets none of them pass too early. Not while a thread is waited for."""

    def __init__(self) -> None:
        self._own = _Selector()
        super().__init__(self._own)

    def time(self) -> float:
        return super().time() + self._own.ahead

    def jump(self, on: bool = True) -> None:
        """From now on nothing is waited for but what is under way; or everything again."""
        self._own.jumps = on


def on_clock(test: Callable[[ClockLoop], Coroutine[Any, Any, T]]) -> T:
    """Runs a test on a loop of this kind."""
    loop = ClockLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        found = runner.run(test(loop))
        loop.jump(False)  # the loop gives its threads a time limit too when it closes
        return found
