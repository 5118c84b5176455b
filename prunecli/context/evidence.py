"""How much an exchange is worth keeping: the built-in score of `importance`, kept up to date as the log grows.

    score = its place among the exchanges, 1 point for each one it is newer than
          + EDITED      a file that one of its calls read, wrote or edited is edited or written later
          + QUOTED      a line of one of its results stands in a later answer or call
          + UNRESOLVED  one of its calls failed, and the same call has not succeeded since

A line is quoted when it has at least QUOTE_CHARS characters, white space folded, and stands as a whole line in what
the model wrote. Two calls are the same when tool and first argument (path, command, pattern, query) are. Later means
in a later exchange; what was dropped since still happened.
"""

from collections.abc import Iterable, Iterator

from prunecli.context import render
from prunecli.context.exchange import Entry, Exchange, call_argument
from prunecli.context.reads import CHANGING_TOOLS, path_of
from prunecli.model.messages import Json, Text, ToolUse

EDITED = 10
QUOTED = 10
UNRESOLVED = 20
QUOTE_CHARS = 40

FILE_TOOLS = ("read", *CHANGING_TOOLS)

Sign = tuple[str, str]
"""("file", path), ("line", folded text) or ("call", tool and argument): what may be met again later."""


class Evidence:
    """What live exchanges offer to be met again, which of them wait for a sign, and where each was met last."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._done: dict[int, int] = {}
        self._met: dict[Sign, int] = {}
        self._offers: dict[int, set[Sign]] = {}
        self._waiting: dict[Sign, set[int]] = {}

    def note(self, exchange: Exchange, *, live: bool) -> set[int]:
        """An exchange is new, got results, was dropped or came back; the live ones whose score it changes, itself
        included. Exchanges must come in log order the first time."""
        seq = exchange.seq
        place = self._places.setdefault(seq, len(self._places))
        for sign in self._offers.pop(seq, ()):
            self._waiting.get(sign, set()).discard(seq)
        changed = {seq}
        for sign in self._new_meetings(exchange):
            self._met[sign] = max(place, self._met.get(sign, -1))
            waiting = self._waiting.pop(sign, set())
            if later := {other for other in waiting if self._places[other] >= place}:
                self._waiting[sign] = later
            changed |= waiting - later
        if live:
            self._offers[seq] = set(_offers(exchange))
            for sign in self._offers[seq]:
                if self._met.get(sign, -1) <= place:
                    self._waiting.setdefault(sign, set()).add(seq)
        return {other for other in changed if other in self._offers}

    def score(self, seq: int) -> int:
        """The score of a live exchange."""
        place = self._places[seq]
        offers = self._offers[seq]
        later = {kind for kind, what in offers if self._met.get((kind, what), -1) > place}
        open_calls = any(kind == "call" and self._met.get((kind, what), -1) <= place for kind, what in offers)
        return place + EDITED * ("file" in later) + QUOTED * ("line" in later) + UNRESOLVED * open_calls

    def _new_meetings(self, exchange: Exchange) -> Iterator[Sign]:
        """The signs that an exchange meets, as far as they were not noted before."""
        done = self._done.get(exchange.seq, -1)
        if done < 0:
            yield from (("line", line) for line in lines_of(_said(exchange.head)))
        for result in exchange.results[max(0, done) :]:
            if result.call and not result.is_error:
                yield "call", _call(result.call)
                if result.tool_name in CHANGING_TOOLS and (path := path_of(result.call)):
                    yield "file", path
        self._done[exchange.seq] = len(exchange.results)


def _offers(exchange: Exchange) -> Iterator[Sign]:
    for result in exchange.results:
        if result.call is None:
            continue
        if result.is_error:
            yield "call", _call(result.call)
        elif result.tool_name in FILE_TOOLS and (path := path_of(result.call)):
            yield "file", path
        yield from (("line", line) for line in lines_of(result.texts))


def lines_of(texts: Iterable[str]) -> Iterator[str]:
    """The lines of texts that are long enough to be told apart, white space folded."""
    for text in texts:
        for line in text.splitlines():
            folded = " ".join(line.split())
            if len(folded) >= QUOTE_CHARS:
                yield folded


def _call(call: ToolUse) -> str:
    argument = call_argument(call.input)
    return f"{call.name} {argument[1] if argument else render.compact(call.input)}"


def _said(head: Entry) -> Iterator[str]:
    """What the model wrote: its text and the strings in its calls."""
    for block in getattr(head.event, "content", ()):
        if isinstance(block, Text):
            yield block.text
        elif isinstance(block, ToolUse):
            yield from _strings(block.input)


def _strings(value: Json) -> Iterator[str]:
    """The strings inside a JSON value; nesting is bounded by the reader of the log."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        elif hasattr(one, "values"):
            waiting.extend(one.values())
