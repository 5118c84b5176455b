"""keep_last_n_steps (tinyAgent): prune all but the last n exchanges; your messages stay.

A step is an exchange, with or without calls; n <= 0 drops all but the one in progress.
"""

from typing import Annotated

from prunecli.context.strategy import Proposal
from prunecli.context.view import View
from prunecli.util.by_project import ALLOWED
from prunecli.util.frozen import frozen


@frozen
class Options:
    """The options of `[pruning.keep_last_n_steps]`."""

    n: Annotated[int, "Newest exchanges to keep; 0 or less keeps none.", ALLOWED] = 10


def propose(view: View, options: Options) -> Proposal:
    """Drop every older exchange that is not locked."""
    drops = view.measured("drops", view.drop_unless_locked)
    exchanges, keep = view.exchanges, max(0, options.n)
    older = exchanges[: max(0, len(exchanges) - keep)]
    edits = [edit for exchange in older if (edit := drops[exchange])]
    return Proposal(
        view.keeping_thinking(edits),
        f"{len(exchanges)} exchanges, the last {keep} are kept",
        lambda _: f"in the last {options.n} exchanges",
    )
