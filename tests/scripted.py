"""A provider for tests and examples, which plays a script of responses and records the requests.

Nothing is patched and nothing sleeps: a hanging response waits for an event that the test sets.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence

from prunecli.model.messages import Block, Text, Thinking, ToolUse, Usage, tool_uses
from prunecli.model.requests import Request
from prunecli.providers.models import Offer
from prunecli.providers.provider import Response, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from prunecli.util.frozen import frozen

DELTA_CHARS = 16
"""Characters of a delta: small enough to split a short sentence."""


@frozen
class Scripted:
    """One response of a script.

    After `after` deltas (or all, if there are fewer) the stream waits for `until`, then raises `error` or continues.
    An empty `stop_reason` becomes `tool_use` or `end_turn`, depending on the content.
    """

    content: tuple[Block, ...] = ()
    stop_reason: str = ""
    usage: Usage = Usage(input_tokens=100, output_tokens=10)
    after: int = 0
    until: asyncio.Event | None = None
    error: Exception | None = None

    def response(self, model: str) -> Response:
        """Return the whole response of this model."""
        reason = self.stop_reason or ("tool_use" if tool_uses(self.content) else "end_turn")
        return Response(self.content, reason, self.usage, model)


def says(text: str) -> Scripted:
    """Return a response with only text."""
    return Scripted((Text(text),))


def calls(*wanted: ToolUse, text: str = "") -> Scripted:
    """Return a response that calls tools, after an optional text."""
    return Scripted((*((Text(text),) if text else ()), *wanted))


def fails(error: Exception, *, text: str = "", after: int = 0) -> Scripted:
    """Return a response that fails with this error after `after` deltas of the text."""
    return Scripted((Text(text),) if text else (), error=error, after=after)


class ScriptEnded(Exception):
    """The error of a request after the last response of the script. It is a mistake in the test, so not a
    `ProviderError`."""


class ScriptedProvider:
    """A `Provider` (provider.py). `requests` are the received ones in order; `paused` is set while a response
    waits."""

    def __init__(self, script: Sequence[Scripted]) -> None:
        self.requests: list[Request] = []
        self.paused = asyncio.Event()
        self.closed = False
        self._script = tuple(script)

    @property
    def left(self) -> int:
        """The responses not requested yet."""
        return max(0, len(self._script) - len(self.requests))

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`. Raises the script's errors, and ScriptEnded after its end."""
        self.requests.append(request)
        if len(self.requests) > len(self._script):
            raise ScriptEnded(self._ended(request))
        played = self._script[len(self.requests) - 1]
        given = 0
        for delta in deltas(played.content):
            if given == played.after:
                await self._incident(played)
            yield delta
            given += 1
            await asyncio.sleep(0)  # like a network, let other tasks run between two deltas
        if given <= played.after:
            await self._incident(played)
        yield played.response(request.model)

    async def models(self) -> tuple[Offer, ...]:
        """See `Provider.models`."""
        return ()

    async def close(self) -> None:
        """See `Provider.close`."""
        self.closed = True

    async def _incident(self, played: Scripted) -> None:
        if played.until is not None:
            self.paused.set()
            try:
                await played.until.wait()
            finally:
                self.paused.clear()
        if played.error is not None:
            raise played.error

    def _ended(self, request: Request) -> str:
        count = len(self._script)
        last = request.messages[-1].canonical.decode() if request.messages else "nothing"
        shown = last if len(last) <= 300 else last[:300] + "…"
        return (
            f"the script has {count} response{'' if count == 1 else 's'}, but request {len(self.requests)} arrived. "
            f"It ends with: {shown}"
        )


def deltas(content: Sequence[Block], size: int = DELTA_CHARS) -> Iterator[StreamEvent]:
    """Yield the deltas of the content, `size` characters each; only texts, thinking and tool inputs have deltas."""
    for block in content:
        match block:
            case Text(text):
                yield from map(TextDelta, _pieces(text, size))
            case Thinking(thinking):
                yield from map(ThinkingDelta, _pieces(thinking, size))
            case ToolUse(id_, name, given):
                yield ToolCallDelta(id_, name)
                for piece in _pieces(json.dumps(given, ensure_ascii=False), size):
                    yield ToolCallDelta(id_, name, piece)
            case _:
                pass


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))
