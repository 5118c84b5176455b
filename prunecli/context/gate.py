"""The gate: decides whether a proposal's savings justify breaking the prompt cache now.

Strategies decide what to prune; the gate decides when. The decision depends on the price, never on the size of the
context alone. Near the compaction limit, a prune that makes a compaction unnecessary also saves the cost of the
compaction.
"""

from collections.abc import Sequence

from prunecli.context.economics import Market, cold
from prunecli.context.expectations import Expectations
from prunecli.context.impact import Impact, impact
from prunecli.context.state import Context
from prunecli.figures import money, short
from prunecli.frozen import frozen
from prunecli.model.events import PrunApplied


@frozen
class Decision:
    """A decision whether to apply a proposal now, given its effect.

    `because` is the reason if it is not the price. `summary` is the cost in USD of a compaction that the proposal
    makes unnecessary.
    """

    apply: bool
    found: Impact
    because: str = ""
    summary: float = 0.0

    @property
    def freed(self) -> int:
        """The tokens that the proposal frees."""
        return self.found.freed

    @property
    def reason(self) -> str:
        """The reason as text."""
        also = f"spares a summary (~{money(self.summary)})" if self.apply and self.summary else ""
        return ", ".join(filter(None, (self.because or self._price, also, self.found.thinking)))

    @property
    def _price(self) -> str:
        change, price = self.found.change, self.found.price
        return price if self.apply or change is None else f"cache {change.warm}; pruning now {price}"


def judge(
    context: Context,
    events: Sequence[PrunApplied],
    market: Market,
    expectations: Expectations | None = None,
) -> Decision:
    """Judge these prunes by a cold cache, an already broken cache, or the break-even point.

    Without expectations, the expected number of further requests is the number so far.
    """
    found = impact(context, events, market, withholds=False)
    further = expectations.further(context.requests) if expectations else context.requests
    broken = found.change
    if still := broken.cold if broken else cold(context, market):
        return Decision(True, found, still)
    if broken is None or broken.rewritten <= 0:
        return Decision(True, found, "the cache is already broken here")
    spares = market.near_limit(found.before) and not market.near_limit(found.after)
    if not market.read or not market.write or broken.cost is None or broken.gain is None:
        rewrites = f"rewrites {short(broken.rewritten)} tokens"
        held = f"cache {broken.warm}; pruning now {rewrites}"
        return Decision(spares, found, f"{rewrites} instead of a compaction soon" if spares else held)
    summary = found.before * market.read / 1e6 if spares else 0.0
    return Decision(broken.gain * further + summary > broken.cost, found, summary=summary)


def next_prunes(context: Context, events: Sequence[PrunApplied], market: Market) -> int:
    """Return the number of tokens that these prunes will free with the next request."""
    return impact(context, events, market, withholds=False).freed
