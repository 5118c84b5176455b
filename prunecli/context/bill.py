"""The bill of a session: reported tokens and their cost, summed over its responses."""

from collections.abc import Callable
from typing import NamedTuple

from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    CompactionApplied,
    Record,
    RequestSent,
    SessionStarted,
)
from prunecli.model.messages import Usage

_BILLED = (AssistantMessage, AttemptBilled, CompactionApplied)


class Bill(NamedTuple):
    """The totals so far of answers and of attempts that were billed without an answer; `cost` is in USD.

    In a copy, they are its own: what was billed before, up to the record `copied_to`, is in `copied`, also in USD.

    The cache fields are the reported ones, 0 if the endpoint reports none. `model` is the last model used, "" if
    prunecli has sent nothing (an imported session).
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    model: str = ""
    copied: float = 0.0
    copied_to: int = -1

    def after(self, record: Record, price: Callable[[str, Usage], float]) -> "Bill":
        """Return the bill after a record; `price` gives the USD cost of a model's usage."""
        event = record.event
        if isinstance(event, SessionStarted):
            return self._replace(copied_to=event.copied_to)
        if isinstance(event, RequestSent) and event.model != self.model:
            return self._replace(model=event.model)
        if not isinstance(event, _BILLED) or not event.usage.prompt_tokens:
            return self
        usage = event.usage
        cost = price(event.model, usage)
        if record.seq <= self.copied_to:
            return self._replace(copied=self.copied + cost)
        return self._replace(
            requests=self.requests + 1,
            input_tokens=self.input_tokens + usage.input_tokens,
            output_tokens=self.output_tokens + usage.output_tokens,
            cache_read=self.cache_read + (usage.cache_read_input_tokens or 0),
            cache_write=self.cache_write + (usage.cache_creation_input_tokens or 0),
            cost=self.cost + cost,
        )

    @property
    def prompt_tokens(self) -> int:
        return self.input_tokens + self.cache_read + self.cache_write

    @property
    def hit_share(self) -> float:
        """The share of all prompt tokens that were read from the cache, 0 to 1."""
        return self.cache_read / self.prompt_tokens if self.prompt_tokens else 0.0
