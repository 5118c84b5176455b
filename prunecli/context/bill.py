"""The bill of a session: reported tokens and what they cost, summed over its responses."""

from collections.abc import Callable
from dataclasses import dataclass

from prunecli.model.events import AssistantMessage, CompactionApplied, Record
from prunecli.model.messages import Usage


@dataclass(frozen=True, slots=True)
class Bill:
    """Totals so far; `cost` in USD. The cache fields are reported ones, 0 where the endpoint reports none."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    last_at: int = 0

    def after(self, record: Record, price: Callable[[str, Usage], float]) -> "Bill":
        """The bill after a record; `price` gives USD of a model's usage."""
        event = record.event
        if not isinstance(event, AssistantMessage | CompactionApplied) or not event.usage.prompt_tokens:
            return self
        usage = event.usage
        return Bill(
            requests=self.requests + 1,
            input_tokens=self.input_tokens + usage.input_tokens,
            output_tokens=self.output_tokens + usage.output_tokens,
            cache_read=self.cache_read + (usage.cache_read_input_tokens or 0),
            cache_write=self.cache_write + (usage.cache_creation_input_tokens or 0),
            cost=self.cost + price(event.model, usage),
            last_at=record.timestamp,
        )

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens of all requests."""
        return self.input_tokens + self.cache_read + self.cache_write

    @property
    def hit_share(self) -> float:
        """Share of all prompt tokens that were read from the cache, 0 to 1."""
        return self.cache_read / self.prompt_tokens if self.prompt_tokens else 0.0
