"""token_aware (tinyAgent): keep the newest exchanges that fit a budget, drop the rest.

Source: PRUNING.md sections 4 and 10. The system prompt and the user's messages are counted first.
"""

from dataclasses import dataclass
from typing import Annotated

from prunecli.context.exchange import Exchange
from prunecli.context.index import ExchangeIndex
from prunecli.context.strategy import Proposal, Size
from prunecli.context.view import View


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.token_aware]`."""

    max_tokens: Annotated[Size | None, "Tokens that may be kept; unset: half of the window."] = None


_TOKENS, _DROPPABLE = range(2)


def propose(view: View, options: Options) -> Proposal:
    """Drops of the exchanges that no longer fit, walking from the newest to the oldest."""
    budget = options.max_tokens if options.max_tokens is not None else view.window // 2
    index = view.follow("token_aware", lambda: ExchangeIndex(2, _measure))
    room = budget - view.fixed_tokens
    stop = index.reaching(_TOKENS, len(index), room + 1) + 1 if room >= 0 else len(index)
    drops = view.keeping_thinking(index.edits(_DROPPABLE, 0, stop, view.drop))
    used = view.fixed_tokens + index.total(_TOKENS) - sum(drop.tokens_before for drop in drops)
    return Proposal(
        drops, f"{used / max(1, budget):.0%} of max_tokens ({budget:,}) kept", lambda _: "fits max_tokens"
    )


def _measure(view: View, exchange: Exchange) -> tuple[int, int]:
    """Tokens that it takes now, and whether it may be dropped."""
    if not view.live(exchange) or not exchange.head.is_sent:
        return 0, 0
    return view.shown_tokens(exchange), int(not view.locked(exchange))
