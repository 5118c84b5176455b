"""token_aware (tinyAgent): keep the newest exchanges that fit a budget, prune the rest.

The system prompt and the user's messages are counted first.
"""

from typing import Annotated

from prunecli.context.strategy import Proposal, Size
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.util.by_project import ALLOWED
from prunecli.util.frozen import frozen


@frozen
class Options:
    """The options of `[pruning.token_aware]`."""

    max_tokens: Annotated[Size | None, "Tokens to keep; unset: half of the window.", ALLOWED] = None


def propose(view: View, options: Options) -> Proposal:
    """Drop the exchanges that no longer fit, walking from the newest to the oldest."""
    budget = options.max_tokens if options.max_tokens is not None else view.window // 2
    sizes = view.measured("shown tokens", view.shown_tokens)
    drops = view.measured("drops", view.drop_unless_locked)
    used = view.fixed_tokens
    edits: list[Edit] = []
    for exchange in reversed(view.exchanges):
        if not exchange.head.is_sent:
            continue
        used += sizes[exchange]
        if used > budget and (edit := drops[exchange]):
            edits.append(edit)
    gone = view.keeping_thinking(edits[::-1])
    left = used - sum(edit.tokens_before for edit in gone)
    note = f"{left / max(1, budget):.0%} of max_tokens ({budget:,}) kept"
    return Proposal(gone, note, lambda _: "fits max_tokens")
