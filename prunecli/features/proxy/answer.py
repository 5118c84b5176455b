"""What a copy of an answer says: blocks, usage, stop reason. The program gets the bytes themselves."""

import json
from contextlib import suppress

from prunecli.model.codec import content_from_json, usage_from_json
from prunecli.providers.provider import Response
from prunecli.providers.sse import EventDecoder
from prunecli.providers.stream import Assembly

MAX_BYTES = 64_000_000
"""A longer answer is not read. It reaches the program like any other."""


class AnswerCopy:
    """Collects the pieces of one answer."""

    def __init__(self, *, streamed: bool) -> None:
        self._decoder = EventDecoder() if streamed else None
        self._assembly = Assembly(lambda: "")
        self._pieces: list[bytes] = []
        self._bytes = 0
        self._lost = False

    def feed(self, piece: bytes) -> None:
        """Take the next bytes. Never raises: an answer that cannot be read has no `response`."""
        self._bytes += len(piece)
        self._lost = self._lost or self._bytes > MAX_BYTES
        if self._lost:
            return
        if self._decoder is None:
            self._pieces.append(piece)
            return
        try:
            for event in self._decoder.feed(piece):
                value = json.loads(event.data)
                if isinstance(value, dict) and value.get("type") != "error":
                    self._assembly.feed(value)
        except (ValueError, RecursionError):
            self._lost = True

    def response(self) -> Response | None:
        """Return the whole answer, None if it ended early or is not one."""
        if self._lost:
            return None
        with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return self._assembly.response() if self._decoder else _whole(b"".join(self._pieces))
        return None


def _whole(data: bytes) -> Response:
    message = json.loads(data)
    content, usage = content_from_json(message["content"]), usage_from_json(message["usage"])
    return Response(content, str(message["stop_reason"]), usage, str(message["model"]))
