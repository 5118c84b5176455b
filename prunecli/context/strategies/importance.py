"""importance (tinyAgent): keep the n exchanges with the highest score, prune the rest.

context/py documents the built-in score. A user function is called once per exchange and user turn:
`function(view, exchange) -> number`; higher scores are kept longer.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import Annotated, Any, TypeAlias

from prunecli.context import render
from prunecli.context.exchange import Entry, Exchange, call_argument
from prunecli.context.reads import changes_files, path_of
from prunecli.context.strategy import FunctionFailed, Proposal, check_reference
from prunecli.context.view import View
from prunecli.model.messages import Json, Text, ToolUse
from prunecli.util.by_project import ALLOWED, Refused
from prunecli.util.frozen import frozen

EDITED = 10
QUOTED = 10
UNRESOLVED = 20
QUOTE_CHARS = 40
_HIGHEST = EDITED + QUOTED + UNRESOLVED

Sign: TypeAlias = tuple[str, str]
"""A ("file", path), ("line", folded text) or ("call", tool and argument) to look for later."""


@frozen
class Signs:
    """The signs of one exchange.

    `shown`: the files its calls touched and the lines of its results. `failed`: its failed calls. `met`: the files
    its calls changed, the lines that the model wrote, and its successful calls.
    """

    shown: frozenset[Sign]
    failed: frozenset[Sign]
    met: frozenset[Sign]


def scored(
    exchanges: Sequence[Exchange], wanted: Collection[Exchange], signs: Mapping[Exchange, Signs], most: int
) -> dict[Exchange, int]:
    """Return the scores of the wanted exchanges that may be among the `most` best.

        score = its rank by age, 1 point for each exchange it is newer than
              + EDITED      a file that one of its calls read, wrote or edited is edited or written later
              + QUOTED      a line of one of its results appears in a later answer or call
              + UNRESOLVED  one of its calls failed, and the same call has not succeeded since

    A quoted line has at least QUOTE_CHARS characters, and the model wrote it as a whole line. Two calls are the same
    if they have the same tool and first argument. "Later" means in a later exchange, dropped or not.

    `exchanges` are all exchanges of the session, oldest first. The walk starts at the newest one and stops once older
    ones can no longer be among the `most` best.
    """
    among, met, reached = set(wanted), set[Sign](), len(exchanges) + _HIGHEST
    found: dict[Exchange, int] = {}
    for place in range(len(exchanges) - 1, -1, -1):
        if len(found) == len(among) or (len(found) >= most and place + _HIGHEST <= reached):
            break
        exchange = exchanges[place]
        its = signs[exchange]
        if exchange in among:
            found[exchange] = place + _evidence(its, met)
            reached = place if len(found) == most else reached
        met |= its.met
    return found


def _evidence(its: Signs, met: set[Sign]) -> int:
    unresolved = UNRESOLVED * (not its.failed <= met)
    if its.shown.isdisjoint(met):
        return unresolved
    kinds = {kind for kind, _ in its.shown & met}
    return unresolved + EDITED * ("file" in kinds) + QUOTED * ("line" in kinds)


def signs_of(exchange: Exchange) -> Signs:
    shown, failed = set[Sign](), set[Sign]()
    met: set[Sign] = {("line", line) for line in lines_of(_said(exchange.head))}
    for result in exchange.results:
        if result.call is None:
            continue
        path, call = path_of(result), ("call", _call(result.call))
        (failed if result.is_error else met).add(call)
        if path and not result.is_error:
            shown.add(("file", path))
            if changes_files(result):
                met.add(("file", path))
        shown.update(("line", line) for line in lines_of(result.texts))
    return Signs(frozenset(shown), frozenset(failed), frozenset(met))


def lines_of(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of texts that are long enough to be distinctive, with white space folded."""
    for text in texts:
        for line in text.splitlines():
            if len(line) >= QUOTE_CHARS and len(folded := " ".join(line.split())) >= QUOTE_CHARS:
                yield folded


def _call(call: ToolUse) -> str:
    argument = call_argument(call.input)
    return f"{call.name} {argument[1] if argument else render.compact(call.input)}"


def _said(head: Entry) -> Iterator[str]:
    """Yield the text that the model wrote, including the strings in its calls."""
    for block in getattr(head.event, "content", ()):
        if isinstance(block, Text):
            yield block.text
        elif isinstance(block, ToolUse):
            yield from strings(block.input)


def strings(value: Json) -> Iterator[str]:
    """Yield the strings inside a JSON value. The log reader bounds the nesting."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        elif isinstance(one, Mapping):
            waiting.extend(one.values())


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
        signs = view.measured("signs", signs_of)
        scores = scored(view.context.exchanges, free, signs, room)
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
