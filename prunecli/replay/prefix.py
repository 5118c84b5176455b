"""The prompt cache of an endpoint, exact to the block: computes what a request reads and writes.

A request is its system prompt with the tools, then the items of the context. The longest stored prefix is read.
Prefixes of at least 1,024 tokens are stored: up to the end of the system prompt, and up to the end of each request. A
prefix expires a lifetime after the last response whose request began with it. An edit changes the items it touches,
so no stored prefix that extends beyond them matches any more.
"""

from bisect import bisect_left
from dataclasses import dataclass, field

from prunecli.context.counted import Item
from prunecli.context.placing import known
from prunecli.context.state import Context
from prunecli.model.messages import Usage

MINIMUM = 1_024
"""Minimum tokens that endpoints store."""


@dataclass(slots=True)
class PrefixCache:
    """One endpoint's cache for one session.

    `fixed` is the tokens of system prompt and tools. `totals` are the tokens up to the end of each item of the
    request laid out last, beginning with `fixed`. `changed`: that request does not begin with the previous one.

    `_chain` identifies each of those prefixes. `_cuts` are the stored ones among them, as numbers of items; all were
    part of the last request. `_others` are stored prefixes that the request no longer begins with, and the times of
    their last responses. A rewind may bring them back.
    """

    fixed: int
    ttl_ms: int
    minimum: int = MINIMUM
    totals: list[float] = field(default_factory=list)
    changed: bool = False
    _chain: list[int] = field(default_factory=list)
    _cuts: list[int] = field(default_factory=list)
    _others: dict[int, int] = field(default_factory=dict)
    _lost: bool = False
    _answered: int | None = None
    _factor: float = 0.0

    def lay_out(self, context: Context, model: str) -> None:
        """Lay out the request again after changes in the context since the last one."""
        chain, totals, counts, start = self._chain, self.totals, context.counts, hash(model)
        keep = 0
        if chain and chain[0] == start and self._factor == counts.factor:
            keep = min(known(context) + 1, len(chain))
        before = chain[keep:]
        del chain[keep:], totals[keep:]
        if not keep:
            chain.append(start)
            totals.append(float(self.fixed))
        whole, link, self._factor = totals[-1], chain[-1], counts.factor
        for entry in context.items[len(chain) - 1 :]:
            item = counts.items[entry.seq]
            link = hash((link, entry.seq, *_state(item)))
            raw, exact, words = item.amount or counts.item_amount(item)
            whole += self._factor * (raw + words) + exact
            chain.append(link)
            totals.append(whole)
        same = 0
        while same < len(before) and keep + same < len(chain) and before[same] == chain[keep + same]:
            same += 1
        self.changed, self._lost = same < len(before), False
        while self._cuts and self._cuts[-1] >= keep + same:
            self._others[before[self._cuts.pop() - keep]] = self._answered or 0
            self._lost = True

    def prefix(self, items: int) -> int:
        """Return the identity of the prefix with this many items of the request laid out last; -1 for the whole
        request."""
        return self._chain[items]

    def breaks(self, now: int) -> bool:
        """Return whether this request misses a part of the previous one that is still cached."""
        return self._lost and self._is_warm(now, self._answered)

    @property
    def tokens(self) -> int:
        """The tokens of the request laid out last."""
        return round(self.totals[-1])

    def read(self, now: int) -> tuple[int, int]:
        """Return the cached part of the request: its number of items, and its tokens including the system prompt."""
        place = self._cuts[-1] if self._cuts and self._is_warm(now, self._answered) else -1
        if not self._others.keys().isdisjoint(self._chain):
            backwards = range(len(self._chain) - 1, place, -1)
            back = (at for at in backwards if self._is_warm(now, self._others.get(self._chain[at])))
            place = next(back, place)
        return (0, 0) if place < 0 else (place, round(self.totals[place]))

    def _is_warm(self, now: int, answered: int | None) -> bool:
        return answered is not None and now - answered <= self.ttl_ms

    def sent(self, now: int, answered: int, output_tokens: int = 0) -> Usage:
        """Return the usage of the request sent `now`, with a response of this many tokens. Its prefix is stored from
        the response on."""
        place, read = self.read(now)
        self._answered = answered
        whole, cuts = self.tokens, self._cuts
        for cut in (0, place, len(self._chain) - 1):
            at = bisect_left(cuts, cut)
            if self.totals[cut] >= self.minimum and (at == len(cuts) or cuts[at] != cut):
                cuts.insert(at, cut)
        if whole < self.minimum:
            return Usage(whole, output_tokens, 0, 0)
        return Usage(0, output_tokens, read, whole - read)


def _state(item: Item) -> tuple[object, ...]:
    """Return a value that changes when an item's shown content changes: its results so far and its edits."""
    plain = (len(item.parts), item.hidden, item.silent)
    return (*plain, *item.edits.items(), *item.memos) if item.edits or item.memos else plain
