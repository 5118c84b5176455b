"""The bridge from session to screen: collects events and wakes the screen once per batch.

No event is lost and order is kept. In a flood of deltas the screen wakes at most sixty times a second.
"""

from collections.abc import Callable
from time import monotonic

from prunecli.model.signals import SessionEvent
from prunecli.providers.provider import joined
from prunecli.session.session import Session

PACE_SECONDS = 1 / 60


class Bridge:
    """Collects the events of one session at a time. `wake` reports events; `later` calls back after a delay."""

    def __init__(
        self,
        wake: Callable[[], object],
        later: Callable[[float, Callable[[], None]], object],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._wake = wake
        self._later = later
        self._clock = clock
        self._pending: list[SessionEvent] = []
        self._queued = False
        self._woken_at = float("-inf")
        self._leave: Callable[[], object] | None = None

    def follow(self, session: Session) -> None:
        """Listen to this session only, and drop pending events of the previous one."""
        self.leave()
        self._leave = session.subscribe(self._take)

    def leave(self) -> None:
        if self._leave is not None:
            self._leave()
            self._leave = None
        self._pending = []

    def _take(self, event: SessionEvent) -> None:
        self._pending.append(event)
        if self._queued:
            return
        self._queued = True
        wait = self._woken_at + PACE_SECONDS - self._clock()
        if wait <= 0:
            self._wake_now()
        else:
            self._later(wait, self._wake_now)

    def _wake_now(self) -> None:
        self._woken_at = self._clock()
        self._wake()

    def batch(self) -> list[SessionEvent]:
        """Return every event since the last batch, in order. Consecutive deltas of one text are joined."""
        self._queued = False
        batch, self._pending = self._pending, []
        return joined(batch)
