"""The prompt cache of an endpoint, exact to the block: what a request reads and what it writes.

A request is its system prompt with the tools, then the items of the context. The longest stored prefix is read. A
prefix is stored up to the end of the system prompt and to the end of each request, if it has at least 1,024 tokens,
and for a lifetime behind the last response that read or wrote it. An edit changes the items it touches, so nothing
stored beyond them fits any more.
"""

from dataclasses import dataclass, field

from prunecli.context.state import Context
from prunecli.model.messages import Usage

MINIMUM = 1_024
"""The fewest tokens that endpoints store."""


@dataclass(slots=True)
class PrefixCache:
    """One endpoint's cache for one session.

    `fixed` are the tokens of system prompt and tools. `totals` are the tokens up to the end of each item of the
    request laid out last, beginning with `fixed`. `changed`: it does not begin with the request before it.
    """

    fixed: int
    ttl_ms: int
    minimum: int = MINIMUM
    totals: list[float] = field(default_factory=list)
    changed: bool = False
    _gone: list[int] = field(default_factory=list)
    _chain: list[int] = field(default_factory=list)
    _factor: float = 0.0
    _used: dict[int, int] = field(default_factory=dict)

    def lay_out(self, context: Context, model: str) -> None:
        """Take up what changed in the context since the last request."""
        start = hash(model)
        factor = context.counts.factor
        same = context.wire.item_at(context.wire.unchanged)
        if not self._chain or self._chain[0] != start or self._factor != factor:
            self._chain, self.totals, self._factor = [start], [float(self.fixed)], factor
            same = 0
        same = min(same, len(self._chain) - 1)
        before = self._chain[same + 1 :]
        del self._chain[same + 1 :], self.totals[same + 1 :]
        chain, whole = self._chain[-1], self.totals[-1]
        for item in context.items[same:]:
            chain = hash((chain, *context.counts.state_of(item)))
            raw, exact, words = context.counts.amount_of((item,))
            whole += factor * (raw + words) + exact
            self._chain.append(chain)
            self.totals.append(whole)
        self._gone = _different(before, self._chain[same + 1 :])
        self.changed = bool(self._gone)

    def prefix(self, items: int) -> int:
        """What identifies the prefix with so many items of the request laid out last; -1: all of it."""
        return self._chain[items]

    def breaks(self, now: int) -> bool:
        """Whether something is still cached of the request before that this one does not begin with."""
        return any(self._alive(one, now) for one in self._gone)

    def _alive(self, prefix: int, now: int) -> bool:
        used = self._used.get(prefix)
        return used is not None and now - used <= self.ttl_ms

    @property
    def tokens(self) -> int:
        """Tokens of the request laid out last."""
        return round(self.totals[-1])

    def read(self, now: int) -> tuple[int, int]:
        """How much of the request is cached: how many items, and their tokens with the system prompt."""
        for place in range(len(self._chain) - 1, -1, -1):
            if self._alive(self._chain[place], now):
                return place, round(self.totals[place])
        return 0, 0

    def sent(self, now: int, answered: int) -> Usage:
        """The usage of the request, sent `now`; it is stored from its response on."""
        place, read = self.read(now)
        for cut in {0, place, len(self._chain) - 1}:
            if self.totals[cut] >= self.minimum:
                self._used[self._chain[cut]] = answered
        whole = self.tokens
        if whole < self.minimum:
            return Usage(whole, 0, 0, 0)
        return Usage(0, 0, read, whole - read)


def _different(before: list[int], now: list[int]) -> list[int]:
    """The part of a chain of prefixes that another one does not share."""
    pairs = zip(before, now, strict=False)
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(before), len(now)))
    return before[same:]
