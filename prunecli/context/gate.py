"""The gate: whether breaking the prompt cache now is worth what a proposal saves.

Strategies decide what to prune; the gate decides when.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from prunecli.context.economics import Market, cold
from prunecli.context.impact import Impact, impact
from prunecli.context.state import Context
from prunecli.model.events import PrunApplied

FEWEST_REQUESTS, MOST_REQUESTS = 5, 50
"""Bounds for the expected further requests: as many again as so far (Lindy's law)."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a proposal is applied now, and why, in plain text."""

    apply: bool
    reason: str


def judge(context: Context, events: Sequence[PrunApplied], window: int, market: Market) -> Decision:
    """Judge these prunes: cold cache, pressure, an already broken cache, or break-even."""
    found = impact(context, events, market)
    decision = _judged(context, found, window, market)
    return Decision(decision.apply, ", ".join(filter(None, (decision.reason, found.thinking))))


def _judged(context: Context, found: Impact, window: int, market: Market) -> Decision:
    if still := cold(context, market):
        return Decision(True, still)
    used = context.counts.context_tokens / window if window else 0.0
    if used >= market.engage_ratio:
        return Decision(True, f"the context fills {used:.0%} of the window")
    broken, saved = found.change, found.freed
    if broken is None or broken.rewritten <= 0:
        return Decision(True, "the cache is already broken here")
    if not market.read or not market.write or broken.cost is None or broken.gain is None:
        return Decision(
            False,
            f"held {_k(saved)}: cache {broken.warm}; pruning now rewrites {_k(broken.rewritten)} tokens",
        )
    further = min(MOST_REQUESTS, max(FEWEST_REQUESTS, context.requests))
    if broken.gain * further > broken.cost:
        return Decision(True, found.price)
    return Decision(False, f"held {_k(saved)}: cache {broken.warm}; pruning now {found.price}")


def _k(tokens: int) -> str:
    return f"{tokens / 1000:.0f}K" if tokens >= 1_000 else str(tokens)
