"""Scores how much an exchange is worth keeping: the built-in score of `importance`.

    score = its rank by age, 1 point for each exchange it is newer than
          + EDITED      a file that one of its calls read, wrote or edited is edited or written later
          + QUOTED      a line of one of its results appears in a later answer or call
          + UNRESOLVED  one of its calls failed, and the same call has not succeeded since

A line is quoted if it has at least QUOTE_CHARS characters, with white space folded, and the model wrote it as a whole
line. Two calls are the same if they have the same tool and first argument (path, command, pattern, query). "Later"
means in a later exchange, dropped or not.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from prunecli.context import render
from prunecli.context.exchange import Entry, Exchange, call_argument
from prunecli.context.reads import changes_files, path_of
from prunecli.frozen import frozen
from prunecli.model.messages import Json, Text, ToolUse

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


def scores(
    exchanges: Sequence[Exchange], wanted: Collection[Exchange], signs: Mapping[Exchange, Signs], most: int
) -> dict[Exchange, int]:
    """Return the scores of the wanted exchanges that may be among the `most` best.

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
    """Return the signs of an exchange."""
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
