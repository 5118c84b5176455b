"""When a failed request is sent again: our own retry, visible and cancellable."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from prunecli.errors import ConnectionLost, Overloaded, ProviderError, RateLimited
from prunecli.figures import duration

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
"""Waits so many seconds; a test puts its own in its place."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`tries` in all before the first event, `stream_tries` once something had been streamed; waits in seconds."""

    tries: int = 10
    stream_tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    longest_asked: float = 60.0
    """A server may ask for this long at most; beyond it the user decides."""

    def wait(self, error: ProviderError, attempt: int, *, streamed: bool, jitter: float) -> float | None:
        """Seconds to wait before try `attempt + 1`, or None where trying again is not ours to decide.

        `jitter` is from 0 to 1.
        """
        if not isinstance(error, RateLimited | Overloaded | ConnectionLost):
            return None
        if isinstance(error, ConnectionLost) and error.permanent:
            return None
        if attempt >= (self.stream_tries if streamed else self.tries):
            return None
        asked = None if isinstance(error, ConnectionLost) else error.retry_after
        if asked is not None:
            return asked if asked <= self.longest_asked else None
        return min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1)) * (0.75 + jitter / 2)

    def hint(self, error: ProviderError) -> str:
        """What to do when the error is not tried again: where the server asks for a longer wait, how long it is."""
        asked = error.retry_after if isinstance(error, RateLimited | Overloaded) else None
        if asked is None or asked <= self.longest_asked:
            return error.hint
        return f"the endpoint asks to wait {duration(round(asked * 1000))} before the next try"
