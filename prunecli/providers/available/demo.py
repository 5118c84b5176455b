"""The demo model: a script that needs no network and no key and calls the real tools.

The answers come from demo_phrases.py. This module streams them at a natural pace and counts their tokens, so that the
status line changes. Using it costs nothing.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from itertools import takewhile

from prunecli.model.messages import Block, Text, ToolUse, Usage
from prunecli.model.requests import Request
from prunecli.providers.demo_phrases import reply_to
from prunecli.providers.demo_script import scene_of
from prunecli.providers.models import Offer
from prunecli.providers.provider import Provider, Response, StreamEvent, TextDelta, ToolCallDelta
from prunecli.providers.registry import Connection, Finding, Listed

KEYS = None

CONTEXT_WINDOW = 200_000
"""The demo model's window in tokens; the model table has the same value."""

PACE = 0.008
"""Seconds between two deltas."""

_JSON_CHARS = 40
_BYTES_PER_TOKEN = 4
_IMAGE_TOKENS = 1_600


def needs_key(base_url: str) -> bool:
    return False


def make(connection: Connection) -> Provider:
    return DemoProvider()


def check(connection: Connection, listed: Listed) -> Finding:
    """Return a finding that there is no endpoint."""
    return Finding("endpoint", "ok", "the embedded demo model, no network")


class DemoProvider:
    """A `Provider` (provider.py). `pause` takes seconds. It is awaited between deltas, but never before the first."""

    def __init__(self, *, pause: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self._pause = pause
        self._cached: Sequence[bytes] = ()

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`. Raises nothing."""
        scene = scene_of(request)
        reply = reply_to(scene)
        ids = [f"demo_{scene.stamp}_{reply.step}_{number}" for number in range(len(reply.calls))]
        uses = [ToolUse(id_, call.name, call.input) for id_, call in zip(ids, reply.calls, strict=True)]
        for number, text in enumerate(re.findall(r"\s*\S+|\s+$", reply.text)):
            if number:
                await self._pause(PACE)
            yield TextDelta(text)
        if uses and reply.linger:
            await self._pause(reply.linger)
        for use in uses:
            for delta in _call_deltas(use):
                await self._pause(PACE)
                yield delta
        content: tuple[Block, ...] = (Text(reply.text), *uses)
        yield Response(
            content, "tool_use" if uses else "end_turn", self._usage(request, content), request.model
        )

    async def models(self) -> tuple[Offer, ...]:
        return (Offer("demo", CONTEXT_WINDOW),)

    async def close(self) -> None:
        """See `Provider.close`; there is nothing to free."""

    def _usage(self, request: Request, content: Sequence[Block]) -> Usage:
        """Return the usage, with tokens as bytes / 4. The part up to the last breakpoint is read from the cache where
        it equals the previous request, and written otherwise. Nothing expires."""
        pieces, marked = _pieces(request)
        pairs = zip(self._cached, pieces[:marked], strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self._cached = pieces[:marked]
        output = len(
            json.dumps([block.input if isinstance(block, ToolUse) else str(block) for block in content])
        )
        return Usage(
            _tokens(pieces[marked:]),
            -(-output // _BYTES_PER_TOKEN),
            _tokens(pieces[:same]),
            _tokens(pieces[same:marked]),
        )


def _call_deltas(use: ToolUse) -> Iterator[ToolCallDelta]:
    text = json.dumps(use.input, ensure_ascii=False)
    yield ToolCallDelta(use.id, use.name)
    for at in range(0, len(text), _JSON_CHARS):
        yield ToolCallDelta(use.id, use.name, text[at : at + _JSON_CHARS])


def _pieces(request: Request) -> tuple[list[bytes], int]:
    """Return all pieces of a request in order, and the number of pieces up to the last breakpoint."""
    pieces = [*request.preamble.tools, *request.preamble.system]
    last = max(request.cache_marks, default=-1)
    marked = len(pieces) + sum(len(message.blocks) for message in request.messages[: last + 1])
    return [*pieces, *(block for message in request.messages for block in message.blocks)], marked


def _tokens(pieces: Sequence[bytes]) -> int:
    """Return the tokens of the pieces; an image counts as one, not by its base64 text."""
    sizes = (
        _IMAGE_TOKENS if b'"base64"' in piece else -(-len(piece) // _BYTES_PER_TOKEN) for piece in pieces
    )
    return sum(sizes)
