"""A summary for a long session whose cache expired, where it costs less than sending all again; and one prepared."""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from prunecli.context.compaction import (
    CompactionPlan,
    Options,
    is_worth_asking,
    plan_compaction,
    prepared_plan,
)
from prunecli.context.economics import Market, Rates, cold, last_use
from prunecli.context.pressure import in_tool_round
from prunecli.context.state import Context
from prunecli.util.figures import money, short
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.agent.policy import Policy
    from prunecli.context import impact
else:
    impact = lazy("prunecli.context.impact")

_RETURN_TURNS = 2
"""The newest user turns that a summary on return keeps: the new prompt, and the turn before it."""
AHEAD_MS = 60_000
"""How long before the cache expires a summary is prepared: longer than an answer takes, since the endpoint counts
from its request."""


class OnReturn(NamedTuple):
    """A summary before a cold context is sent again: its plan, the tokens of context without it and with it, and the
    price of its request, 0 if it was prepared. Prices are in USD per million tokens if the market has any."""

    plan: CompactionPlan
    tokens: int
    left: int
    summary: float
    rates: Rates

    def fits(self, market: Market, most: float | None, spent: float) -> bool:
        """Return whether its request stays within a limit in USD of which so much is spent; False if that is
        unknown."""
        return most is None or (market.read is not None and spent + self.summary / 1e6 <= most)

    def words(self, market: Market, key: str) -> tuple[str, ...]:
        """Return the offer, the most important part first. `key` summarizes, "" for none."""
        is_ready = bool(key and self.plan.ready)
        how = f"{key or '/compact'} summarizes {'at once' if is_ready else 'first'}"
        if market.read is None:
            return f"The cache expired: {short(self.tokens)} to send again. {how}", "Enter sends"
        write, read = self.rates.write / 1e6, self.rates.read / 1e6
        first = money(self.summary / 1e6 + self.left * write)
        less = f"{money(self.left * read)} a request instead of {money(self.tokens * read)}"
        return (
            f"The cache expired: {short(self.tokens)} to send again, ~{money(self.tokens * write)}. {how}",
            f"~{first}{', already prepared' * is_ready}, then {less}",
            "Enter sends",
        )


def ahead_options(options: Options) -> Options:
    """Return the options of a summary that is prepared: the new prompt comes later."""
    return replace(options, keep_first_turns=0, keep_recent_turns=_RETURN_TURNS - 1)


def on_return(policy: "Policy", context: Context, options: Options | None = None) -> OnReturn | None:
    """Return the summary that costs less than sending a long, cold context again; None if there is none.

    It costs one read of the context without a cache, and its output; one that was prepared is paid for. Without
    it, what the strategies leave is written to the cache, and read by each further request. It keeps the newest
    turns only: no cache is left to keep.
    """
    numbers, market = policy.expectations, policy.market
    if policy.compaction.on_return == "off" or numbers is None or not policy.can_compact(context):
        return None
    tokens, is_cold = context.counts.context_tokens, context.last_response and cold(context, market)
    if not is_cold or tokens < numbers.return_tokens or in_tool_round(context):
        return None
    whole, prunes = tokens, policy.prunes(context)
    if prunes:
        tokens -= impact.next_prunes(context, prunes, market)
        if tokens < numbers.return_tokens:
            return None
    rates = market.rates_for(tokens)
    carried = rates.write + rates.read * numbers.further(context.requests)
    found = []
    kept = options or replace(policy.compaction, keep_first_turns=0, keep_recent_turns=_RETURN_TURNS)
    plan = plan_compaction(context, kept, policy.window, by_endpoint=policy.compacts)
    for one in (plan, prepared_plan(context, market.model, by_endpoint=policy.compacts)):
        if one and (one.ready or is_worth_asking(context, one)):
            left = one.expected(context, numbers.summary_tokens).tokens_after
            asked = whole * market.plain(rates) + numbers.summary_tokens * rates.output
            found.append(OnReturn(one, tokens, left, 0 if one.ready else asked, rates))
    best = min(found, key=lambda one: one.summary + one.left * carried, default=None)
    return best if best and best.summary + best.left * carried < tokens * carried else None


def ahead(policy: "Policy", context: Context) -> OnReturn | None:
    """Return the summary to prepare now, since the cache of a long session is about to expire; None for none.

    It is one that would be offered after that. At most one in a session is left unused.
    """
    now, numbers = policy.market.now, policy.expectations
    used = last_use(context, policy.market) if policy.compaction.ahead and context.ahead.is_used else 0
    if not used or now is None or numbers is None:
        return None
    expires = used + policy.market.ttl_ms
    if not 0 < expires - now <= AHEAD_MS:
        return None
    found = on_return(policy.at(expires + 1), context, ahead_options(policy.compaction))
    if found is None:
        return None
    items, (read, _, output) = context.items, found.rates
    cut = context.position(found.plan.tail_start) if found.plan.by_endpoint else len(items)
    new = context.counts.tokens_of(items[context.cache.stored(cut) : cut])
    asked = context.counts.context_tokens * read + new * (policy.market.plain(found.rates) - read)
    return found._replace(summary=asked + numbers.summary_tokens * output)
