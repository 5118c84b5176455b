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
    """A decision whether to apply a proposal now, with the reason as text, and the tokens that the proposal frees."""

    apply: bool
    reason: str
    freed: int


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
    apply, reason = _judged(context, found, further, market)
    return Decision(apply, ", ".join(filter(None, (reason, found.thinking))), found.freed)


def next_prunes(context: Context, events: Sequence[PrunApplied], market: Market) -> int:
    """Return the number of tokens that these prunes will free with the next request."""
    return impact(context, events, market, withholds=False).freed


def _judged(context: Context, found: Impact, further: int, market: Market) -> tuple[bool, str]:
    broken = found.change
    if still := broken.cold if broken else cold(context, market):
        return True, still
    if broken is None or broken.rewritten <= 0:
        return True, "the cache is already broken here"
    spares = market.near_limit(found.before) and not market.near_limit(found.after)
    if not market.read or not market.write or broken.cost is None or broken.gain is None:
        if spares:
            return True, f"rewrites {short(broken.rewritten)} tokens instead of a compaction soon"
        return False, f"cache {broken.warm}; pruning now rewrites {short(broken.rewritten)} tokens"
    summary = found.before * market.read / 1e6 if spares else 0.0
    if broken.gain * further + summary > broken.cost:
        also = f", spares a summary (~{money(summary)})" if summary else ""
        return True, found.price + also
    return False, f"cache {broken.warm}; pruning now {found.price}"
