"""The price of acts on the whole context: a summary, its undo, a rewind, another model.

Such an act is compared with going on as before: what its own request costs, what the next request costs more, and
what each later one saves at the price of reading.
"""

from collections.abc import Sequence
from typing import NamedTuple

from prunecli.context.compaction import CompactionPlan
from prunecli.context.economics import Break, Market, Prices, cached, cold
from prunecli.context.impact import Impact, impact
from prunecli.context.item_order import NOTHING_PLANNED, covers
from prunecli.context.lost_thinking import ThinkingSum
from prunecli.context.state import Context
from prunecli.model.events import CompactionApplied, PrunApplied, SettingChanged


class Prompt(NamedTuple):
    """The tokens of a request, and those of them that the endpoint reads from its cache."""

    tokens: int
    read: int

    def usd(self, prices: Prices) -> float:
        return (self.read * prices.read + (self.tokens - self.read) * prices.write) / 1e6


def between(context: Context, later: Context, market: Market, lost: ThinkingSum | None = None) -> Impact:
    """Return the effect of going from a context to another one of the same session, by a rewind or the undo of a
    summary. `lost` is the thinking that this costs, unless it is what only the later one drops."""
    gone, dropped = context.unseen.dropped, later.unseen.dropped
    if lost is None:
        lost = later.unseen.sum([later.entries[seq] for seq in sorted(dropped - gone)])
    back = later.unseen.sum([later.entries[seq] for seq in sorted(gone - dropped) if later.is_shown(seq)])
    before, after = _next(context, market), _elsewhere(later, later.counts.context_tokens, market)
    return Impact(before.tokens, after.tokens, 0, _change(context, market, before, after, market), lost, back)


def summarizing(
    context: Context,
    plan: CompactionPlan,
    event: CompactionApplied,
    kept: Sequence[PrunApplied],
    market: Market,
) -> Impact:
    """Return the effect of a summary as expected, with the prunes of what it keeps."""
    counts, tokens = context.counts, event.usage.output_tokens
    edits = [edit for prune in kept for edit in prune.edits]
    saved = counts.scale.tokens(*counts.saved_by(edits, context.entries))
    start = next((at for at, item in enumerate(context.items) if covers(event, item)), 0)
    before = _next(context, market)
    after = Prompt(event.tokens_after - saved, _next(context, market, start).read)
    request, old = 0.0, market.prices_for(before.tokens)
    if old is not None:
        asked, rest = before, old.write
        if plan.by_endpoint:
            upto = context.wire.items_before(plan.cut(context))
            whole = counts.fixed + counts.tokens_of(context.items[:upto])
            asked, rest = Prompt(whole, _next(context, market, upto).read), market.plain(old)
        request = asked.read * old.read + (asked.tokens - asked.read) * rest
        request = (request + tokens * market.rates_for(before.tokens).output) / 1e6
    thinking = impact(context, [event], market)
    change = _change(context, market, before, after, market, request)
    return Impact(before.tokens, after.tokens, 0, change, thinking.lost, thinking.back)


def switching(
    context: Context, name: str, factor: float, market: Market, new: Market, *, tells: bool = False
) -> Impact:
    """Return the effect of another model, by its name, its tokens per raw token, its market, and whether it takes
    system messages."""
    thinking = impact(context, [SettingChanged("model.name", name)], market)
    scale = context.counts.scale.for_model(factor)
    tokens = scale.total(*context.counts.shown) + thinking.back.tokens - thinking.lost.tokens
    before, after = _next(context, market), _elsewhere(context, tokens, new, tells=tells)
    change = _change(context, market, before, after, new)
    return Impact(before.tokens, tokens, 0, change, thinking.lost, thinking.back)


def _next(context: Context, market: Market, upto: int | None = None) -> Prompt:
    """Return the next request. `upto`: only this many leading items may be read from the cache."""
    counts = context.counts
    if cold(context, market):
        return Prompt(counts.context_tokens, 0)
    items = cached(context, NOTHING_PLANNED, market)
    if upto is not None:
        items = context.cache.stored(min(items, upto))
    return Prompt(counts.context_tokens, counts.fixed + counts.tokens_of(context.items[:items]))


def _elsewhere(context: Context, tokens: int, market: Market, *, tells: bool | None = None) -> Prompt:
    """Return the next request, of this many tokens, of a context on another branch or with another model."""
    if cold(context, market):
        return Prompt(tokens, 0)
    model, since = market.model or context.requested, (market.now or 0) - market.ttl_ms
    chain = context.digests() if tells is None else context.fixed.digests(tells=tells)
    _, read = context.prompts.longest(chain, model, since)
    return Prompt(tokens, min(tokens, read or context.counts.fixed))


def _change(
    context: Context, market: Market, before: Prompt, after: Prompt, later: Market, request: float = 0.0
) -> Break:
    old, new = market.prices_for(before.tokens), later.prices_for(after.tokens)
    cost = gain = None
    if old is not None and new is not None:
        gain = (before.tokens * old.read - after.tokens * new.read) / 1e6
        cost = max(0.0, request + after.usd(new) - before.usd(old) + gain)
    return Break(max(0, after.tokens - after.read), cost, gain, cold(context, market), None)
