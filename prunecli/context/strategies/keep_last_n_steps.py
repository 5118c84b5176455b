"""keep_last_n_steps (tinyAgent): drop all but the last n exchanges; the user's messages stay in place.

Source: PRUNING.md section 4. A step is an exchange, also one without calls; n <= 0 drops all but the one in
progress.
"""

from dataclasses import dataclass
from typing import Annotated

from prunecli.context.exchange import Exchange
from prunecli.context.index import ExchangeIndex
from prunecli.context.strategy import Proposal
from prunecli.context.view import View


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.keep_last_n_steps]`."""

    n: Annotated[int, "Exchanges that are kept, counted from the end; 0 or less keeps none."] = 10


_LIVE, _DROPPABLE = range(2)


def propose(view: View, options: Options) -> Proposal:
    """Drops of every older exchange that nothing locks."""
    index = view.follow("keep_last_n_steps", lambda: ExchangeIndex(2, _measure))
    stop = index.before(view.exchange_start(options.n))
    drops = view.keeping_thinking(index.edits(_DROPPABLE, 0, stop, view.drop))
    note = f"{index.total(_LIVE)} exchanges, the last {max(0, options.n)} are kept"
    return Proposal(drops, note, lambda _: f"in the last {options.n} exchanges")


def _measure(view: View, exchange: Exchange) -> tuple[int, int]:
    """Whether it is a step, and whether it may be dropped."""
    if not view.live(exchange):
        return 0, 0
    return 1, int(exchange.head.is_sent and not view.locked(exchange))
