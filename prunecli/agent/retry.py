"""The retry policy for failed requests. Retries are visible and can be canceled."""

import math
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from prunecli.util.errors import ConnectionLost, Overloaded, ProviderError, RateLimited
from prunecli.util.figures import duration
from prunecli.util.frozen import frozen

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
"""A function that waits for some seconds; tests pass their own."""

_YEAR = 366 * 86_400.0


@frozen
class RetryPolicy:
    """The limits of retries: `tries` attempts in total before the first event, `stream_tries` after streaming began;
    waits are in seconds."""

    tries: int = 10
    stream_tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    longest_asked: float = 60.0
    """The longest wait, in seconds, that a server may ask for. Longer waits are left to the user."""

    def wait(self, error: ProviderError, attempt: int, *, streamed: bool, jitter: float) -> float | None:
        """Return the seconds to wait before try `attempt + 1`, or None to give up.

        `jitter` is from 0 to 1. The endpoint can ask for a longer wait, but not for a shorter one: `retry-after: 0`
        would use up all tries at once.
        """
        if not isinstance(error, RateLimited | Overloaded | ConnectionLost):
            return None
        if error.permanent:
            return None
        if attempt >= (self.stream_tries if streamed else self.tries):
            return None
        plain = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1)) * (0.75 + jitter / 2)
        asked = _asked(error)
        if asked is None:
            return plain
        return max(plain, asked * max(1.0, 0.75 + jitter / 2)) if asked <= self.longest_asked else None

    def hint(self, error: ProviderError) -> str:
        """Return the hint for an error that is not retried; names the wait if the server asks for a longer one."""
        asked = _asked(error)
        if asked is None or asked <= self.longest_asked:
            return error.hint
        return f"try again in {duration(round(asked * 1000))}, as the endpoint asks"


def _asked(error: ProviderError) -> float | None:
    asked = error.retry_after if isinstance(error, RateLimited | Overloaded) else None
    return asked if asked is not None and math.isfinite(asked) and 0 <= asked <= _YEAR else None
