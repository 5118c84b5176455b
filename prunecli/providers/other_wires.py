"""What other protocols left in a conversation that the Messages API would reject: their thinking and their searches.

The log and the context keep these blocks, for the models that can read them. They are left out here, when a request
is posted; a search becomes text.
"""

import json
from dataclasses import replace

from prunecli.model.codec import canonical
from prunecli.model.messages import OTHER_WIRE
from prunecli.model.requests import Request, WireMessage
from prunecli.model.searches import in_words

SEARCH_ID = "ws_"
"""Begins the id of a search that an endpoint of OpenAI's Responses API ran."""

_THINKING = tuple(f'"{name}":"{OTHER_WIRE}'.encode() for name in ("signature", "data"))
_THEIRS, _SEARCHED = f'":"{OTHER_WIRE}'.encode(), f'":"{SEARCH_ID}'.encode()
_SEARCHES = tuple(f'"{name}":"{SEARCH_ID}'.encode() for name in ("id", "tool_use_id"))


def for_messages(request: Request) -> Request:
    """Return the request without the blocks of other protocols. Most requests have none, and each asks."""
    for message in request.messages:
        if _THEIRS in message.canonical or _SEARCHED in message.canonical:
            return replace(request, messages=tuple(map(_plain, request.messages)))
    return request


def _plain(message: WireMessage) -> WireMessage:
    if message.role == "user" or not any(mark in message.canonical for mark in (*_THINKING, *_SEARCHES)):
        return message
    kept = [
        (_in_words(block), seq)
        for block, seq in zip(message.blocks, message.seqs, strict=True)
        if not any(mark in block and _is_thinking(block) for mark in _THINKING)
    ]
    return WireMessage.of("assistant", tuple(block for block, _ in kept), tuple(seq for _, seq in kept))


def _is_thinking(block: bytes) -> bool:
    return block.endswith((b'"type":"thinking"}', b'"type":"redacted_thinking"}'))


def _in_words(block: bytes) -> bytes:
    """Return a search as text; another block as it is."""
    if not any(mark in block for mark in _SEARCHES):
        return block
    value = json.loads(block)
    if value["type"] == "tool_use":
        return block
    return canonical({"type": "text", "text": in_words(value)})
