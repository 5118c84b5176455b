"""The cost and the gain of breaking the prompt cache.

After a break, everything after it is written to the cache again instead of read. In return, pruned content is no
longer read with each later request.
"""

from collections.abc import Mapping
from math import ceil
from typing import Literal, NamedTuple, TypeAlias

from prunecli.context.cache import SHORT_TTL_MS
from prunecli.context.counted import Item
from prunecli.context.item_order import NOTHING_PLANNED
from prunecli.context.state import Context
from prunecli.context.tokens import total
from prunecli.util.figures import countdown
from prunecli.util.frozen import frozen

Gate: TypeAlias = Literal["always", "cache_aware"]

_READ, _WRITE_5M, _WRITE_1H, _OUTPUT = 0.1, 1.25, 2.0, 5.0
"""Claude's prices in units of the price of uncached input."""


class Rates(NamedTuple):
    """Prices of a token, in any unit: for cache reads, cache writes and output."""

    read: float
    write: float
    output: float


class Prices(NamedTuple):
    """USD per million tokens in requests with a prompt above `above`: for cache reads, cache writes and output, if
    known."""

    above: int
    read: float
    write: float
    output: float | None = None

    @property
    def extra(self) -> float:
        """The price of writing a token minus the price of reading it, in USD."""
        return (self.write - self.read) / 1e6


class Market(NamedTuple):
    """The inputs of the gate. Prices in USD per million tokens, times in unix ms, None if unknown.

    An endpoint without cache fields has no prices: its cache only affects latency. `bands` are the prices of requests
    with longer prompts, the longest last. `limit` is the context in tokens that compaction allows, 0 if it is off.
    """

    now: int | None = None
    ttl_ms: int = SHORT_TTL_MS
    model: str = ""
    read: float | None = None
    write: float | None = None
    engage_ratio: float = 0.75
    output: float | None = None
    limit: int = 0
    bands: tuple[Prices, ...] = ()

    def prices_for(self, prompt: int) -> Prices | None:
        """Return the prices of a request with this many prompt tokens; None if unknown."""
        if self.read is None or self.write is None:
            return None
        base = Prices(0, self.read, self.write, self.output)
        return next((band for band in reversed(self.bands) if prompt > band.above), base)

    def rates_for(self, prompt: int) -> Rates:
        """Return the rates of a request with this many prompt tokens. If a price is unknown, use Claude's usual
        ratios."""
        known = self.prices_for(prompt)
        if known is None or known.output is None or not known.write:
            return Rates(_READ, _WRITE_1H if self.ttl_ms > SHORT_TTL_MS else _WRITE_5M, _OUTPUT)
        return Rates(known.read, known.write, known.output)

    def plain(self, prices: Prices | Rates) -> float:
        """Return the price of input that is not cached, by Claude's usual ratio to that of writing it."""
        return prices.write / (_WRITE_1H if self.ttl_ms > SHORT_TTL_MS else _WRITE_5M)

    def near_limit(self, tokens: int) -> bool:
        """Return whether a compaction will soon be due for a context of this many tokens."""
        return bool(self.limit) and tokens >= self.engage_ratio * self.limit


@frozen
class Break:
    """The effect of a change in the context on the prompt cache and the bill.

    `rewritten`: cached tokens after the change that must be written again; negative if it takes back an edit that no
    request has contained, which saves writing this many. `cost`: USD, once; `gain`: USD per request from the next one
    on, negative if tokens come back; both None without prices. `cold` is the reason why nothing is cached, "" for a
    warm cache, which stays so for `left_ms`, None if unknown. `at_end`: the change only adds to the end, so no cached
    content changes.
    """

    rewritten: int
    cost: float | None
    gain: float | None
    cold: str
    left_ms: int | None
    at_end: bool = False

    @property
    def warm(self) -> str:
        """The remaining lifetime of a warm cache, in words."""
        return _warm(self.left_ms)

    @property
    def even_after(self) -> int | None:
        """The number of requests after which the change pays off; None if never or if a price is unknown."""
        if self.cost is None or self.gain is None or self.gain <= 0:
            return None
        return max(1, ceil(self.cost / self.gain))


def breaking(
    context: Context, planned: Mapping[int, Item], before: int, after: int, market: Market, *, at_end: bool
) -> Break:
    """Return the break caused by showing items as `planned`, or by content that is only appended.

    `before` and `after`: tokens of the whole next request without and with the change, each at the prices of its
    length. The endpoint reads a stored prefix from its cache if the last request or an earlier one showed it in this
    way; it writes anything else once.
    """
    still, saved = cold(context, market), before - after
    counts, items = context.counts, context.items
    rewritten = read = 0
    if not still:
        read, reads = cached(context, NOTHING_PLANNED, market), cached(context, planned, market)
        rewritten = counts.tokens_of(items[reads:read])
        changed = [item for seq, item in planned.items() if context.position(seq) < reads]
        if changed or reads > read:
            amount = total(map(counts.item_amount, changed)).plus(counts.amount_of(items[read:reads]))
            more = amount.minus(counts.amount_of(item.head for item in changed))
            rewritten -= counts.scale.tokens(*more)
    cost = gain = None
    old, new = market.prices_for(before), market.prices_for(after)
    if old is not None and new is not None:
        cost = max(0, rewritten - saved) * new.extra
        if old != new and not still:  # new content is also written at other prices
            unsent = counts.tokens_of(items[read:])
            cost = max(0.0, cost + unsent * (new.extra - old.extra))
        gain = (before * old.read - after * new.read) / 1e6
    return Break(rewritten, cost, gain, still, _left_ms(context, market), at_end)


def cached(context: Context, planned: Mapping[int, Item], market: Market) -> int:
    """Return the number of leading items that the next request would read from the cache, shown as `planned`."""
    since = 0 if market.now is None else market.now - market.ttl_ms
    return context.cache.cached(planned, since, market.model or context.requested)


def cold(context: Context, market: Market) -> str:
    """Return why the endpoint has nothing of this session in its cache, or ""."""
    if context.last_response is None:
        return "nothing cached yet"
    if market.read and market.read == market.write:
        return "this endpoint caches nothing"
    used = last_use(context, market)
    if not used:
        return "the model changed: its cache is cold"
    if market.now is not None and market.now - used > market.ttl_ms:
        return f"cache cold: idle for {countdown(market.now - used)}"
    return ""


def warmth(context: Context, market: Market) -> str:
    """Describe how long a warm cache will last."""
    return _warm(_left_ms(context, market))


def _left_ms(context: Context, market: Market) -> int | None:
    used = None if market.now is None else last_use(context, market)
    return market.ttl_ms - (market.now - used) if market.now is not None and used else None


def _warm(left_ms: int | None) -> str:
    return "warm" if left_ms is None else f"warm for {countdown(left_ms)}"


def last_use(context: Context, market: Market) -> int | None:
    """Return the last time, in unix ms, at which the model used a prefix of this session; None or 0 if never."""
    before = context.requested or context.last_model  # an endpoint may report a longer name for an alias
    if market.model and before and before != market.model:
        return context.cache.last_use(market.model)
    return context.last_response
