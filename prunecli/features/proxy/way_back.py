"""From a session's messages back to a body. A message without an edit is sent as the program wrote it."""

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from prunecli.features.proxy.body import Incoming, as_bytes, joined, marked, plain
from prunecli.model.messages import Json
from prunecli.model.requests import WireMessage

Span: TypeAlias = tuple[WireMessage, int, int]
"""A message that is sent, and the range of the program's messages that it stands for."""


class WayBack:
    """The bodies of one conversation. `before` holds the seq of the last record before each message."""

    def __init__(self, before: Sequence[int]) -> None:
        self._before = before
        self._as_bytes: dict[int, bytes] = {}
        self._same: dict[tuple[int, int, bytes], bool] = {}

    def went_back(self, same: int) -> None:
        """Forget the messages behind these."""
        self._same.clear()
        self._as_bytes = {at: data for at, data in self._as_bytes.items() if at < same}

    def body(self, request: Incoming, raw: bytes, spans: Sequence[Span]) -> bytes:
        if not self.edited(request, spans, len(request.messages)):
            return raw
        return joined(request.body, list(self.pieces(request, spans)))

    def edited(self, request: Incoming, spans: Sequence[Span], length: int) -> bool:
        """Return whether anything else is sent than the first `length` messages of the program."""
        covered = spans[-1][2] if spans else 0
        return covered != length or not all(self._is_same(request, *span) for span in spans)

    def pieces(self, request: Incoming, spans: Sequence[Span]) -> Iterator[bytes]:
        marks_of: dict[int, list[tuple[int, Json]]] = {}
        for (message, block), mark in sorted(request.marks.items()):
            marks_of.setdefault(message, []).append((block, mark))
        for group, at, to in spans:
            if self._is_same(request, group, at, to):
                yield from (self._original(request, n, marks_of) for n in range(at, to))
            else:
                marks = [mark for n in range(at, to) for mark in marks_of.get(n, ())]
                yield as_bytes(marked(json.loads(group.canonical), marks)) if marks else group.canonical

    def _original(self, request: Incoming, n: int, marks_of: dict[int, list[tuple[int, Json]]]) -> bytes:
        if n in marks_of:
            return as_bytes(request.body["messages"][n])
        if n not in self._as_bytes:
            self._as_bytes[n] = as_bytes(request.body["messages"][n])
        return self._as_bytes[n]

    def spans(self, groups: Sequence[WireMessage]) -> Iterator[Span]:
        at = 0
        for group in groups:
            to = max(at, bisect_left(self._before, max(group.seqs, default=-1)))
            yield group, at, to
            at = to

    def _is_same(self, request: Incoming, group: WireMessage, at: int, to: int) -> bool:
        key = at, to, group.canonical
        if key not in self._same:
            self._same[key] = plain([json.loads(group.canonical)]) == plain(request.messages[at:to])
        return self._same[key]


def number_of(spans: Sequence[Span], message: int) -> int:
    """Return the number of the message that is sent for one of the program's."""
    return next((number for number, (_, _, to) in enumerate(spans) if message < to), len(spans) - 1)
