"""importance (tinyAgent): keep the n exchanges with the highest score, drop the rest.

context/evidence.py documents the built-in score. A user function is called once per exchange and user turn:
`function(view, exchange) -> number`; higher scores are kept longer.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from heapq import nlargest
from typing import Annotated, Any

from prunecli.by_project import ALLOWED, Refused
from prunecli.context import evidence
from prunecli.context.exchange import Exchange
from prunecli.context.strategy import FunctionFailed, Proposal, check_reference
from prunecli.context.view import View
from prunecli.frozen import frozen

FUNCTIONS = ("function",)

Score = Callable[[View, Exchange], float]


@frozen
class Options:
    """The options of `[pruning.importance]`."""

    n: Annotated[int, "Exchanges to keep; 0 or less keeps none.", ALLOWED] = 10
    function: Annotated[
        str, 'A scoring function as "package.module:name"; empty: built in.', Refused("it names code to run")
    ] = ""

    def __post_init__(self) -> None:
        check_reference("function", self.function)


def propose(view: View, options: Options, function: Score | None = None) -> Proposal:
    """Drop the exchanges with the lowest scores; on ties, the older one."""
    locked: Mapping[Exchange, str] = view.measured("locked", view.locked)
    shown = [exchange for exchange in view.exchanges if exchange.head.is_sent]
    free = [exchange for exchange in shown if not locked[exchange]]
    keep = max(0, options.n)
    scores: Mapping[Exchange, float]
    room = max(0, keep - (len(shown) - len(free)))
    if function is None:
        signs = view.measured("signs", evidence.signs_of)
        scores = evidence.scores(view.context.exchanges, free, signs, room)
    else:
        try:
            scores = view.kept(("importance", options), _Asked).scores(view, free, function)
        except FunctionFailed as failed:
            return Proposal((), failed.message, problem=failed.message)
    best = {seq for _, seq in nlargest(room, [(score, one.seq) for one, score in scores.items()])}
    drops = view.measured("drop", view.drop)
    return Proposal(
        view.keeping_thinking([drops[exchange] for exchange in free if exchange.seq not in best]),
        f"{len(shown)} exchanges, the {keep} most important are kept",
        lambda _: f"among the {keep} most important exchanges",
    )


class _Asked:
    """The results of a user function in this user turn."""

    def __init__(self) -> None:
        self._turn = -1
        self._scores: dict[Exchange, float] = {}
        self._results: dict[Exchange, int] = {}
        self._failed: FunctionFailed | None = None

    def scores(self, view: View, free: Sequence[Exchange], function: Score) -> Mapping[Exchange, float]:
        """Return the scores of these exchanges.

        The function is called for all of them when a user turn begins, and later only for exchanges that are new or
        have new results. Raises FunctionFailed; after that, it raises without further calls until the next user turn.
        """
        if view.context.turns != self._turn:
            self._turn, self._failed = view.context.turns, None
            self._results.clear()
        if self._failed:
            raise self._failed
        try:
            for exchange in free:
                results = len(exchange.results)
                if self._results.get(exchange) != results:
                    self._scores[exchange] = _number(function(view, exchange))
                    self._results[exchange] = results
        except FunctionFailed as failed:
            self._failed = failed
            raise
        return {exchange: self._scores[exchange] for exchange in free}


def _number(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise FunctionFailed(f"pruning.importance.function gave {given!r:.60}, expected a number")
    return float(given)
