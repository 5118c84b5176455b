"""The demo model: answers by a script, without a network or a key, and says so. It calls the real tools.

What it answers is decided in demo_replies.py from the request alone; here it is streamed at a natural pace and
its tokens are counted, so that the status bar lives. It costs nothing.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from itertools import islice

from prunecli.model.messages import Block, Text, ToolUse, Usage
from prunecli.model.requests import Request
from prunecli.providers.demo_conversation import Conversation, Reply, conversation
from prunecli.providers.demo_replies import reply_to
from prunecli.providers.provider import Response, StreamEvent, TextDelta, ToolCallDelta

CONTEXT_WINDOW = 200_000
"""Tokens that the demo model takes; the model table says the same."""

PACE = 0.008
"""Seconds between two deltas."""

MAX_DELTAS = 250
"""A longer answer comes in longer deltas, so that none takes more than some two seconds."""

_JSON_CHARS = 40
_BYTES_PER_TOKEN = 4
_IMAGE = rb'"data":"[A-Za-z0-9+/=]*"'
_IMAGE_TOKENS = 1_600

_Piece = tuple[str, bytes]


class DemoProvider:
    """A `Provider` (provider.py). `pause` takes seconds; it is awaited between deltas, never before the first."""

    def __init__(self, *, pause: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self._pause = pause
        self._cached: Sequence[_Piece] = ()

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`. The same request always gets the same content; nothing is raised."""
        said = conversation(request)
        reply = reply_to(said)
        content = _content(reply, said)
        for number, delta in enumerate(_text_deltas(reply.text)):
            if number:
                await self._pause(PACE)
            yield delta
        if reply.calls and reply.linger:
            await self._pause(reply.linger)
        for delta in _call_deltas(content):
            await self._pause(PACE)
            yield delta
        reason = "tool_use" if reply.calls else "end_turn"
        yield Response(content, reason, self._usage(request, content), request.model)

    async def models(self) -> tuple[tuple[str, int], ...]:
        """See `Provider.models`: itself."""
        return (("demo", CONTEXT_WINDOW),)

    async def close(self) -> None:
        """See `Provider.close`; there is nothing to free."""

    def _usage(self, request: Request, content: Sequence[Block]) -> Usage:
        """Tokens as bytes / 4. Read from the cache is what the request has in common, from its start, with what
        was marked in the one before it; written is the rest up to this one's last mark. Nothing expires."""
        pieces, marked = _pieces(request)
        same = sum(1 for _ in _common(self._cached, pieces[:marked]))
        self._cached = pieces[:marked]
        output = sum(map(_size, content))
        return Usage(
            _tokens(pieces[marked:]),
            -(-output // _BYTES_PER_TOKEN),
            _tokens(pieces[:same]),
            _tokens(pieces[same:marked]),
        )


def _content(reply: Reply, said: Conversation) -> tuple[Block, ...]:
    uses = [
        ToolUse(said.id_of(reply.label, number), call.name, call.input)
        for number, call in enumerate(reply.calls)
    ]
    return (Text(reply.text), *uses)


# Deltas ------------------------------------------------------------------------------------------------------


def _text_deltas(text: str) -> Iterator[StreamEvent]:
    """The text word by word, or in a few words at a time."""
    words = iter(re.findall(r"\s*\S+|\s+$", text))
    many = -(-len(text.split()) // MAX_DELTAS) or 1
    while group := list(islice(words, many)):
        yield TextDelta("".join(group))


def _call_deltas(content: Sequence[Block]) -> Iterator[StreamEvent]:
    for block in content:
        if isinstance(block, ToolUse):
            yield ToolCallDelta(block.id, block.name)
            text = json.dumps(block.input, ensure_ascii=False)
            for at in range(0, len(text), _JSON_CHARS):
                yield ToolCallDelta(block.id, block.name, text[at : at + _JSON_CHARS])


# Tokens ------------------------------------------------------------------------------------------------------


def _pieces(request: Request) -> tuple[list[_Piece], int]:
    """Everything that is sent, in order, and how many pieces of it are up to the last cache mark."""
    pieces: list[_Piece] = [("", piece) for piece in (*request.preamble.tools, *request.preamble.system)]
    marked = len(pieces)
    last = max(request.cache_marks, default=-1)
    for index, message in enumerate(request.messages):
        pieces += [(message.role, block) for block in message.blocks]
        if index == last:
            marked = len(pieces)
    return pieces, marked


def _common(one: Sequence[_Piece], other: Sequence[_Piece]) -> Iterator[_Piece]:
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            return
        yield mine


def _tokens(pieces: Sequence[_Piece]) -> int:
    return sum(-(-_length(piece) // _BYTES_PER_TOKEN) for _, piece in pieces)


def _length(piece: bytes) -> int:
    """The piece's bytes, a picture counted as what it costs and not as what its base64 weighs."""
    if b'"base64"' not in piece:
        return len(piece)
    rest, pictures = re.subn(_IMAGE, b"", piece)
    return len(rest) + pictures * _IMAGE_TOKENS * _BYTES_PER_TOKEN


def _size(block: Block) -> int:
    match block:
        case Text(text):
            return len(text)
        case ToolUse(_, name, given):
            return len(name) + len(json.dumps(given, ensure_ascii=False))
        case _:
            return 0
