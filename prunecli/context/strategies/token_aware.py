"""token_aware (tinyAgent): keep the newest exchanges that fit a budget, drop the rest.

Source: PRUNING.md sections 4 and 10. The system prompt and the user's messages are counted first.
"""

from dataclasses import dataclass
from typing import Annotated

from prunecli.context.strategy import Proposal
from prunecli.context.view import View


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.token_aware]`."""

    max_tokens: Annotated[int | None, "Tokens that may be kept; unset: half of the window."] = None


def propose(view: View, options: Options) -> Proposal:
    """Drops of the exchanges that no longer fit, walking from the newest to the oldest."""
    budget = options.max_tokens if options.max_tokens is not None else view.window // 2
    used = view.fixed_tokens
    full = False
    drops = []
    for exchange in reversed(view.exchanges):
        tokens = view.shown_tokens(exchange)
        full = full or used + tokens > budget
        if not full or not exchange.head.wire or view.locked(exchange):
            used += tokens
        else:
            drops.append(view.drop(exchange))
    return Proposal(tuple(reversed(drops)), f"{used:,} of {budget:,} tokens kept")
