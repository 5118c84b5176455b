"""importance (tinyAgent): keep the n exchanges with the highest score, drop the rest.

Source: PRUNING.md sections 4 and 10; context/evidence.py documents the built-in score. A function of the user's is
asked once for each exchange and user turn: `function(view, exchange) -> number`, the higher the longer it is kept.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from prunecli.context.evidence import Evidence
from prunecli.context.exchange import Entry, Exchange
from prunecli.context.strategy import FunctionFailed, Proposal, check_reference
from prunecli.context.view import View
from prunecli.model.edits import Edit

FUNCTIONS = ("function",)

Score = Callable[[View, Exchange], float]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `[pruning.importance]`."""

    n: Annotated[int, "Exchanges that are kept; 0 or less keeps none."] = 10
    function: Annotated[
        str, 'A scoring function as "package.module:name"; empty: built in. Never from a project\'s file.'
    ] = ""

    def __post_init__(self) -> None:
        check_reference("function", self.function)


def propose(view: View, options: Options, function: Score | None = None) -> Proposal:
    """Drops of the exchanges with the lowest scores; of equal ones the older goes first."""
    ranking = view.follow(
        ("importance", options, function is None), lambda: Ranking(Evidence() if function is None else None)
    )
    try:
        if function is None:
            ranking.score_by_evidence()
        else:
            ranking.score_by(view, function)
    except FunctionFailed as failed:
        return Proposal((), failed.message, problem=failed.message)
    keep = max(0, options.n)
    drops = sorted(ranking.beyond(view, keep), key=lambda edit: edit.seq)
    return Proposal(
        view.keeping_thinking(drops),
        f"{len(ranking)} exchanges, the {keep} most important are kept",
        lambda _: f"among the {keep} most important exchanges",
    )


class Ranking:
    """The exchanges of the working context by score; pinned ones and the one in progress stand aside.

    `evidence` is what the built-in score is made from; None where a function scores.
    """

    def __init__(self, evidence: Evidence | None) -> None:
        self._evidence = evidence
        self._free: dict[int, Exchange] = {}
        self._aside: set[int] = set()
        self._drops: dict[int, Edit] = {}
        self._scores: dict[int, float] = {}
        self._order: list[tuple[float, int]] = []
        self._stale: set[int] = set()
        self._asked: dict[int, tuple[int, float]] = {}
        self._turn = -1
        self._failed: FunctionFailed | None = None

    def __len__(self) -> int:
        return len(self._free) + len(self._aside)

    def update(self, view: View, touched: Sequence[Entry]) -> None:
        """Follows the fold."""
        for entry in touched:
            if entry.kind == "assistant" and entry.exchange:
                self._place(view, entry.exchange)

    def _place(self, view: View, exchange: Exchange) -> None:
        seq = exchange.seq
        live = view.live(exchange) and exchange.head.is_sent
        self._stale |= self._evidence.note(exchange, live=live) if self._evidence else {seq}
        self._aside.discard(seq)
        self._free.pop(seq, None)
        self._drops.pop(seq, None)
        if live and view.locked(exchange):
            self._aside.add(seq)
        elif live:
            self._free[seq] = exchange
        if seq not in self._free:
            self._unrank(seq)

    def score_by_evidence(self) -> None:
        """Ranks by the built-in score."""
        if self._evidence:
            for seq in self._stale & self._free.keys():
                self._rank(seq, self._evidence.score(seq))
        self._stale.clear()

    def score_by(self, view: View, function: Score) -> None:
        """Ranks by a function, which is asked for all exchanges when a user turn began, later for those that are
        new or have new results.

        Raises FunctionFailed, until the next user turn without asking again.
        """
        turn = view.context.turns
        if turn != self._turn:
            self._turn, self._failed = turn, None
            self._stale |= self._free.keys()
            self._asked.clear()
        if self._failed:
            raise self._failed
        try:
            for seq in sorted(self._stale & self._free.keys()):
                exchange = self._free[seq]
                results = len(exchange.results)
                if self._asked.get(seq, (-1, 0.0))[0] != results:
                    self._asked[seq] = results, _number(function(view, exchange))
                self._rank(seq, self._asked[seq][1])
        except FunctionFailed as failed:
            self._failed = failed
            raise
        self._stale.clear()

    def beyond(self, view: View, keep: int) -> list[Edit]:
        """Drops of the exchanges that are not among the `keep` best, those aside counted first."""
        surplus = max(0, len(self._free) - max(0, keep - len(self._aside)))
        gone = [seq for _, seq in self._order[:surplus]]
        self._drops |= {seq: view.drop(self._free[seq]) for seq in gone if seq not in self._drops}
        return [self._drops[seq] for seq in gone]

    def _rank(self, seq: int, score: float) -> None:
        self._unrank(seq)
        self._scores[seq] = score
        insort(self._order, (score, seq))

    def _unrank(self, seq: int) -> None:
        if seq in self._scores:
            del self._order[bisect_left(self._order, (self._scores.pop(seq), seq))]


def _number(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise FunctionFailed(f"pruning.importance.function gave {given!r:.60}, expected a number")
    return float(given)
