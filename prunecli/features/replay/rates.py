"""The prices of a replay: for tokens read from the cache, written to it and sent uncached, and for output."""

from collections.abc import Callable
from dataclasses import replace

from prunecli.model.messages import Usage
from prunecli.model.requests import CacheTtl
from prunecli.providers.models import ModelInfo, Prices
from prunecli.util.frozen import frozen

UNIT = Prices(1.0, 5.0, 0.1, 1.25, 2.0)
"""The prices if none are known: a dollar for a million tokens of input, and the usual ratios."""
RELATIVE_OUTPUT = 5.0
"""The price of output relative to input if it is unknown: five times, as for most models."""


@frozen
class Rates:
    """USD per million tokens."""

    input: float
    read: float
    write: float
    output: float

    def cost(self, usage: Usage) -> float:
        """Return the USD of a prompt, without output."""
        read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        return (usage.input_tokens * self.input + read * self.read + written * self.write) / 1e6


def rates_of(prices: Prices, ttl: CacheTtl) -> Rates:
    """Return the rates for a model's prices. Cached tokens cost the same as input where an endpoint has no price for
    them, or writes them for nothing: then they are input."""
    known = prices.input or 0.0
    return Rates(
        known,
        known if prices.cache_read is None else prices.cache_read,
        prices.cache_write(ttl) or known,
        RELATIVE_OUTPUT * known if prices.output is None else prices.output,
    )


def rates_by_size(info: ModelInfo, ttl: CacheTtl) -> Callable[[int], Rates]:
    """Return a function from the tokens of a prompt to the rates of a model."""
    base, *longer = [(0, rates_of(info.prices, ttl))] + [
        (above, rates_of(one, ttl)) for above, one in info.bands
    ]
    longer.reverse()

    def rates(tokens: int) -> Rates:
        for above, found in longer:
            if tokens > above:
                return found
        return base[1]

    return rates


@frozen
class Table:
    """The models of a replay, with values from the command line that override the table.

    `model` replaces the recorded models. `read` and `write` are relative to input. A model without prices gets those
    of `stand_in`, but keeps its own window and rules.
    """

    info_of: Callable[[str], ModelInfo]
    stand_in: str
    model: str = ""
    read: float | None = None
    write: float | None = None
    window: int | None = None

    def name(self, recorded: str) -> str:
        """Return the model whose prices and rules are used for a recorded one."""
        return self.info_of(self.model or recorded or self.stand_in).name

    def has_price(self, recorded: str) -> bool:
        """Return whether the table has prices for the model."""
        return self.info_of(self.name(recorded)).prices.input is not None

    def assumed(self, recorded: str) -> str:
        """Return in words which prices replace those of a model without any; "" if its own are known."""
        if self.has_price(recorded):
            return ""
        other = self.info_of(self.stand_in)
        if other.prices.input is None:
            return f"{recorded}: no known price, counting ${UNIT.input:.0f} for a million tokens of input"
        return f"{recorded}: no known price, using that of {other.name}"

    def info(self, recorded: str, window: int = 0) -> ModelInfo:
        """Return a model with its prices, and with at least this window unless one is given."""
        own = self.info_of(self.name(recorded))
        if own.prices.input is None:
            other = self.info_of(self.stand_in)
            own = replace(own, prices=other.prices, bands=other.bands)
        if own.prices.input is None:
            own = replace(own, prices=UNIT, bands=())
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
