"""One request of another program: its messages without cache breakpoints, and the way back to a body.

Only edited messages are written anew. All others are sent as the program wrote them, so an unpruned request keeps its
bytes.
"""

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from prunecli.model.codec import canonical
from prunecli.model.messages import Json
from prunecli.util.frozen import frozen

Message: TypeAlias = dict[str, Any]
MARK = "cache_control"
_UNMARKABLE = ("thinking", "redacted_thinking")


@frozen
class Incoming:
    """A request. `body` has all its fields, `messages` are those of the body in blocks without breakpoints, and
    `marks` has these by (message, block); one within a tool's result has the block of that result."""

    body: dict[str, Any]
    messages: list[Message]
    marks: dict[tuple[int, int], Json]

    @property
    def model(self) -> str:
        return str(self.body.get("model") or "")

    @property
    def drops_thinking(self) -> bool:
        """Whether the endpoint is asked to drop thinking that a change before it made invalid."""
        match self.body.get("thinking"):
            case {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}:
                return True
        return False

    @property
    def preamble(self) -> dict[str, Json]:
        """System texts and tools, as `PREAMBLE` records them."""
        system = self.body.get("system") or ()
        texts = [system] if isinstance(system, str) else [str(block.get("text", "")) for block in system]
        tools = [
            {key: value for key, value in tool.items() if key != MARK}
            for tool in self.body.get("tools") or ()
        ]
        return {"system": texts, "tools": tools}


def incoming(raw: bytes) -> Incoming:
    """Read a request. Raises ValueError if it is not one of the Messages API."""
    body = json.loads(raw)
    given = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(given, list) or not given:
        raise ValueError("a request without messages")
    messages: list[Message] = []
    marks: dict[tuple[int, int], Json] = {}
    for number, message in enumerate(given):
        if not isinstance(message, dict) or not isinstance(message.get("content"), str | list):
            raise ValueError(f"messages.{number} is not a message")
        content = [
            _unmarked(block, (number, at), marks) for at, block in enumerate(_blocks(message["content"]))
        ]
        messages.append({**message, "content": content})
    return Incoming(body, messages, marks)


def _unmarked(block: Any, place: tuple[int, int], marks: dict[tuple[int, int], Json]) -> Any:
    if not isinstance(block, dict):
        raise ValueError(f"messages.{place[0]}.content.{place[1]} is not a block")
    inner = block.get("content")
    if isinstance(inner, list) and any(isinstance(part, dict) and MARK in part for part in inner):
        block = {**block, "content": [_unmarked(part, place, marks) for part in inner]}
    if MARK not in block:
        return block
    marks[place] = block[MARK]
    return {key: value for key, value in block.items() if key != MARK}


def plain(messages: Sequence[Message]) -> list[bytes]:
    """Return the blocks of some messages in one form, each with its role: two requests that mean the same have equal
    ones, however they are written."""
    return [
        message["role"].encode() + canonical(_plain(block))
        for message in messages
        for block in _blocks(message["content"])
    ]


def _plain(block: Message) -> Message:
    block = {key: value for key, value in block.items() if value is not None and key != MARK}
    if block.get("type") == "tool_result":
        if not block.get("is_error"):
            block.pop("is_error", None)
        block["content"] = [_plain(part) for part in _blocks(block.get("content") or [])]
    return block


def _blocks(content: Any) -> list[Message]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def marked(message: Message, marks: Sequence[tuple[int, Json]]) -> Message:
    """Return an edited message with the breakpoints of the one it replaces, each on its block or the nearest one
    before it that may have one."""
    blocks = _blocks(message["content"])
    for at, mark in marks:
        places = [n for n in range(min(at, len(blocks) - 1), -1, -1) if _takes_mark(blocks[n])]
        if places:
            blocks[places[0]] = {**blocks[places[0]], MARK: mark}
    return {**message, "content": blocks}


def _takes_mark(block: Message) -> bool:
    return block.get("type") not in _UNMARKABLE and block.get("text") != ""


def without_thinking(request: Incoming) -> bytes:
    """Return the body of a request without thinking."""
    messages: list[bytes] = []
    for message in request.body["messages"]:
        blocks = _blocks(message["content"])
        left = [block for block in blocks if block.get("type") not in _UNMARKABLE]
        if left:
            messages.append(as_bytes(message if len(left) == len(blocks) else {**message, "content": left}))
    return joined(request.body, messages)


def as_bytes(value: Json) -> bytes:
    """Return compact JSON. Only ASCII, so that half an emoji of a program survives."""
    return json.dumps(value, separators=(",", ":")).encode()


def joined(body: dict[str, Any], messages: Sequence[bytes]) -> bytes:
    """Return a body with these messages in place of its own."""
    parts = [
        b"%b:%b" % (as_bytes(key), b"[%b]" % b",".join(messages) if key == "messages" else as_bytes(value))
        for key, value in body.items()
    ]
    return b"{%b}" % b",".join(parts)
