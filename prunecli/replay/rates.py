"""The prices of a replay: what a token costs that is read, written or sent uncached, and one of output."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from prunecli.model.messages import Usage
from prunecli.model.requests import CacheTtl
from prunecli.providers.models import ModelInfo, Prices

RELATIVE_OUTPUT = 5.0
"""The price of output where it is not known: five times that of input, as of most models."""


@dataclass(frozen=True, slots=True)
class Rates:
    """USD for a million tokens."""

    input: float
    read: float
    write: float
    output: float

    def cost(self, usage: Usage) -> float:
        """USD of a prompt; output is left out."""
        read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        return (usage.input_tokens * self.input + read * self.read + written * self.write) / 1e6


def rates_of(prices: Prices, ttl: CacheTtl) -> Rates:
    """The rates of a model's prices. Where an endpoint has no price for cached tokens, they cost what input costs."""
    known = prices.input or 0.0
    write = prices.cache_write_1h if ttl == "1h" else prices.cache_write_5m
    return Rates(
        known,
        known if prices.cache_read is None else prices.cache_read,
        known if write is None else write,
        RELATIVE_OUTPUT * known if prices.output is None else prices.output,
    )


@dataclass(frozen=True, slots=True)
class Table:
    """The models of a replay, with what the command line says in place of the table.

    `model` replaces the recorded models. `read` and `write` are relative to input. A model without prices costs what
    `stand_in` costs; its own window and rules stay.
    """

    info_of: Callable[[str], ModelInfo]
    stand_in: str
    model: str = ""
    read: float | None = None
    write: float | None = None
    window: int | None = None

    def name(self, recorded: str) -> str:
        """The model that stands for a recorded one."""
        return self.info_of(self.model or recorded or self.stand_in).name

    def has_price(self, recorded: str) -> bool:
        """Whether the table knows what the model costs."""
        return self.info_of(self.name(recorded)).prices.input is not None

    def info(self, recorded: str, window: int = 0) -> ModelInfo:
        """A model with its prices, and with at least this window unless one is given."""
        own = self.info_of(self.name(recorded))
        if own.prices.input is None:
            other = self.info_of(self.stand_in)
            own = replace(own, prices=other.prices, bands=other.bands)
        if own.prices.input is None:
            own = replace(own, prices=Prices(1.0, RELATIVE_OUTPUT, 0.1, 1.25, 2.0), bands=())
        own = replace(
            own,
            prices=self._given(own.prices),
            bands=tuple((above, self._given(prices)) for above, prices in own.bands),
        )
        return replace(own, context_window=self.window or max(own.context_window, window))

    def _given(self, prices: Prices) -> Prices:
        unit = prices.input or 1.0
        if self.read is not None:
            prices = replace(prices, cache_read=self.read * unit)
        if self.write is not None:
            prices = replace(prices, cache_write_5m=self.write * unit, cache_write_1h=self.write * unit)
        return prices
