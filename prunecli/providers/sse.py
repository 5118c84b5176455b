"""Decodes Server-Sent Events from a stream of bytes, piece by piece, with a limited size.

Accepts all three line ends, even if a piece ends inside one. Bytes that are not UTF-8 become U+FFFD, so that one bad
byte does not cost a response.
"""

from typing import NamedTuple

MAX_EVENT_BYTES = 16_000_000
"""Maximum bytes up to the end of the next event, with comments and empty lines. A tool's input or a fetched page may
arrive in events of a few megabytes."""


class ServerEvent(NamedTuple):
    """One event: its name ("" for none) and its data lines joined by newlines."""

    name: str
    data: str


class EventDecoder:
    """A decoder that takes a stream in pieces and keeps an unfinished event."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._after_cr = False
        self._name = b""
        self._data: list[bytes] = []
        self._bytes = 0

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Return the events that end in this piece. Raises ValueError if an event exceeds the limit."""
        if self._after_cr or b"\r" in piece:
            piece = self._with_plain_line_ends(piece)
        lines = piece.split(b"\n")
        last = lines.pop()
        if lines and self._tail:
            lines[0] = b"".join((*self._tail, lines[0]))
            self._tail.clear()
            self._tail_bytes = 0
        events = []
        for line in lines:
            self._bytes += len(line) + 1
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line.startswith(b"event:"):
                self._name = line[6:].removeprefix(b" ")
            elif not line and (self._name or self._data):
                events.append(self._finished())
        if last:
            self._tail.append(last)
            self._tail_bytes += len(last)
        if self._tail_bytes + self._bytes > self._limit:
            raise ValueError(f"more than {self._limit:,} bytes without an event")
        return events

    def _with_plain_line_ends(self, piece: bytes) -> bytes:
        if not piece:
            return piece
        ended_in_cr, self._after_cr = self._after_cr, piece.endswith(b"\r")
        if ended_in_cr:
            piece = piece.removeprefix(b"\n")  # the second half of a line end
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _finished(self) -> ServerEvent:
        name, data = self._name, self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._name, self._bytes = b"", 0
        self._data.clear()
        return ServerEvent(name.decode("utf-8", "replace"), data.decode("utf-8", "replace"))
