"""From a session's messages back to a body. A message without an edit is sent as the program wrote it."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prunecli.features.proxy.body import Incoming, as_bytes, marked, plain
from prunecli.model.messages import Json
from prunecli.model.requests import WireMessage

Marks = dict[int, list[tuple[int, Json]]]
"""The breakpoints of messages: block and value."""
MAX_MARKS = 4
"""Breakpoints that the endpoint allows in a request."""


class Span(NamedTuple):
    """A message that is sent, and the range of the program's messages that it stands for; `same`, if it says that."""

    group: WireMessage
    at: int
    to: int
    same: bool


class WayBack:
    """The bodies of one conversation. `before` holds the seq of the last record before each message."""

    def __init__(self, before: Sequence[int]) -> None:
        self._before = before
        self._spans: list[Span] = []

    def went_back(self, same: int) -> None:
        """Forget the messages behind these."""
        self._spans = [span for span in self._spans if span.to <= same]

    def spans(self, request: Incoming, groups: Sequence[WireMessage]) -> list[Span]:
        """Return what the messages of a session stand for. What has not changed is not compared again."""
        known = 0
        for span, group in zip(self._spans, groups, strict=False):
            if span.group is not group:
                break
            known += 1
        del self._spans[known:]
        at = self._spans[-1].to if known else 0
        for group in groups[known:]:
            to = max(at, bisect_left(self._before, max(group.seqs, default=-1)))
            same = plain([json.loads(group.canonical)]) == plain(request.messages[at:to])
            self._spans.append(Span(group, at, to, same))
            at = to
        return list(self._spans)


def body_of(request: Incoming, spans: Sequence[Span], wanted: Sequence[int]) -> tuple[bytes, tuple[int, ...]]:
    """Return the body, and which of its messages have breakpoints. If anything is edited, the messages `wanted` get
    one too, as far as there are enough: the most important first."""
    marks = _marks(request)
    if not edited(spans, len(request.messages)):
        return request.raw, _numbers(spans, marks)
    _move(request, marks, [spans[number].to - 1 for number in wanted])
    return request.with_messages(pieces(request, spans, marks)), _numbers(spans, marks)


def edited(spans: Sequence[Span], length: int) -> bool:
    """Return whether anything else is sent than the first `length` messages of the program."""
    covered = spans[-1].to if spans else 0
    return covered != length or not all(span.same for span in spans)


def pieces(request: Incoming, spans: Sequence[Span], marks: Marks | None = None) -> Iterator[bytes]:
    """Yield the messages to send: those of the spans, and the program's that follow them."""
    own = _marks(request)
    marks = own if marks is None else marks
    start = end = 0
    """The program's messages that are sent as they are."""
    for group, at, to, same in (*spans, *_rest(request, spans)):
        for number in range(at, to) if same else ():
            if marks.get(number) != own.get(number):
                yield from _written(request, start, end)
                yield as_bytes(marked(request.messages[number], marks.get(number, ())))
                yield from request.asides_of(number, number + 1)
                start = number + 1
            end = number + 1
        if not same:
            yield from _written(request, start, end)
            moved = [mark for number in range(at, to) for mark in marks.get(number, ())]
            yield as_bytes(marked(json.loads(group.canonical), moved)) if moved else group.canonical
            yield from request.asides_of(at, to)
            start = end = to
    yield from _written(request, start, end)


def _written(request: Incoming, start: int, end: int) -> Iterator[bytes]:
    if start < end:
        yield request.bytes_of(start, end)


def _rest(request: Incoming, spans: Sequence[Span]) -> Iterator[Span]:
    covered = spans[-1].to if spans else 0
    if covered < len(request.messages):
        yield Span(spans[-1].group, covered, len(request.messages), True)


def _marks(request: Incoming) -> Marks:
    marks: Marks = {}
    for (message, block), mark in sorted(request.marks.items()):
        marks.setdefault(message, []).append((block, mark))
    return marks


def _move(request: Incoming, marks: Marks, wanted: Sequence[int]) -> None:
    """Give these messages a breakpoint at their end: another one, or one of the program's except its last."""
    free = MAX_MARKS - request.other_marks - len(request.marks)
    spare = [number for number in sorted(marks) for _ in marks[number]][:-1]
    mark = next((found[0][1] for _, found in sorted(marks.items())), None)
    for message in wanted:
        if mark is None or message < 0 or message in marks:
            continue
        if free < 1:
            spare = [number for number in spare if number not in wanted]
            if not spare:
                return
            first = spare.pop(0)
            del marks[first][0]
            if not marks[first]:
                del marks[first]
        free -= 1
        marks[message] = [(len(request.messages[message]["content"]) - 1, mark)]


def _numbers(spans: Sequence[Span], marks: Marks) -> tuple[int, ...]:
    """Return the numbers of the messages that are sent with breakpoints."""
    found = {min(bisect_right(spans, at, key=lambda span: span.to), len(spans) - 1) for at in marks}
    return tuple(sorted(found))
