"""One request of another program: its messages without cache breakpoints, and where each stands in its bytes.

A program sends its whole history each time. What a request shares with an earlier one, byte for byte, is not read
again. Only edited messages are written anew; all other bytes are sent as the program wrote them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from prunecli.model.codec import canonical
from prunecli.model.messages import Json
from prunecli.util.frozen import frozen

Message: TypeAlias = dict[str, Any]
MARK = "cache_control"
_UNMARKABLE = ("thinking", "redacted_thinking")
_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


@frozen
class Incoming:
    """A request. `before` and `after` are the fields on either side of its messages. These are in blocks without
    breakpoints; `marks` has the breakpoints by (message, block), and one within a tool's result has the block of that
    result. `places` are the first byte of each message in `raw` and the byte behind it. System messages between them
    are not recorded; they go where the message before them goes: `asides` has their first byte, by its number.
    `preamble` has system texts and tools as `PREAMBLE` records them."""

    raw: bytes
    before: dict[str, Any]
    after: dict[str, Any]
    messages: list[Message]
    marks: dict[tuple[int, int], Json]
    places: list[tuple[int, int]]
    asides: dict[int, int]
    preamble: dict[str, Json]

    @property
    def fields(self) -> dict[str, Any]:
        """All fields but the messages."""
        return {**self.before, **self.after}

    @property
    def model(self) -> str:
        return str(self.fields.get("model") or "")

    @property
    def drops_thinking(self) -> bool:
        """Whether the endpoint is asked to drop thinking that a change before it made invalid."""
        match self.fields.get("thinking"):
            case {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}:
                return True
        return False

    @property
    def other_marks(self) -> int:
        """How many breakpoints are outside the messages."""
        fields = self.fields
        system = fields.get("system")
        blocks = [*(system if isinstance(system, list) else ()), *(fields.get("tools") or ()), fields]
        asides = b"".join(self.asides_of(0, len(self.messages)))
        return sum(MARK in block for block in blocks) + asides.count(MARK.encode())

    def bytes_of(self, start: int, end: int) -> bytes:
        """Return messages as the program wrote them, with what it wrote between them."""
        return self.raw[self.places[start][0] : self.places[end - 1][1]]

    def asides_of(self, start: int, end: int) -> Iterator[bytes]:
        """Yield what the program wrote between messages."""
        for number, at in self.asides.items():
            if start <= number < end:
                yield self.raw[at : self.places[number][1]]

    def with_messages(self, messages: Iterable[bytes]) -> bytes:
        """Return the body with these messages in place of its own."""
        start, end = self.places[0][0], self.places[-1][1]
        return b"%b%b%b" % (self.raw[:start], b",".join(messages), self.raw[end:])


def incoming(raw: bytes, earlier: Sequence[Incoming] = ()) -> Incoming:
    """Read a request, with what it shares with one of the earlier ones. Raises ValueError if it is not one of the
    Messages API."""
    shared = [(kept, one) for one in earlier if (kept := _kept(raw, one))]
    kept, one = max(shared, key=lambda pair: pair[0], default=(0, None))
    reader = _Reader(raw, one.places[kept - 1][1] if one else 0)
    if one is None:
        before: dict[str, Any] = {}
        messages: list[Message] = []
        places: list[tuple[int, int]] = []
        marks: dict[tuple[int, int], Json] = {}
        asides: dict[int, int] = {}
        reader.take("{")
        for key in reader.keys(before):
            if key == "messages":
                break
        else:
            raise ValueError("a request without messages")
        reader.take("[")
    else:
        before, messages, places = one.before, one.messages[:kept], one.places[:kept]
        marks = {place: mark for place, mark in one.marks.items() if place[0] < kept}
        asides = {number: at for number, at in one.asides.items() if number < kept}
    for value, place in reader.items(first=not messages):
        if messages and isinstance(value, dict) and value.get("role") == "system":
            asides.setdefault(len(messages) - 1, place[0])
            places[-1] = places[-1][0], place[1]
            continue
        messages.append(_message(value, len(messages), marks))
        places.append(place)
    if not messages:
        raise ValueError("a request without messages")
    if one is not None and raw[places[-1][1] :] == one.raw[one.places[-1][1] :]:
        return Incoming(raw, before, one.after, messages, marks, places, asides, one.preamble)
    after: dict[str, Any] = {}
    if reader.more():
        for key in reader.keys(after):
            if key == "messages":
                raise ValueError("two lists of messages")
    reader.end()
    return Incoming(raw, before, after, messages, marks, places, asides, _preamble({**before, **after}))


def _kept(raw: bytes, one: Incoming) -> int:
    """Return a number of messages with which both begin, byte for byte: the greatest one, or a little less."""
    places = one.places
    kept, step = len(places), 1
    if not raw.startswith(one.raw[: places[0][1]]):
        return 0
    while kept > 0 and not raw.startswith(one.raw[: places[kept - 1][1]]):
        kept, step = kept - step, step * 2
    return max(kept, 1)


class _Reader:
    """Reads the JSON of a request from a place on, and tells where values stand in its bytes."""

    def __init__(self, raw: bytes, start: int) -> None:
        self._text = raw[start:].decode()
        self._at = 0
        self._known = 0, start
        """A place in the text, and in the bytes."""

    def _blank(self) -> str:
        """Pass over blanks and return the next character."""
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._text[self._at : self._at + 1]

    def take(self, *expected: str) -> str:
        found = self._blank()
        if found not in expected:
            raise ValueError(f"expected {' or '.join(expected)} after {self._text[: self._at][-20:]!r}")
        self._at += 1
        return found

    def value(self) -> Any:
        self._blank()
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def keys(self, fields: dict[str, Any]) -> Iterator[str]:
        """Yield the keys of an object up to its end, and put their values into `fields`, but leave that of "messages"
        to the reader."""
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise ValueError("a key that is not a string")
            self.take(":")
            if key != "messages":
                fields[key] = self.value()
            yield key
            if self.take(",", "}") == "}":
                return

    def items(self, *, first: bool) -> Iterator[tuple[Any, tuple[int, int]]]:
        """Yield the values of a list up to its end, with their places. `first`: none is read yet."""
        if first and self._blank() == "]":
            return
        while first or self.take(",", "]") == ",":
            first = False
            self._blank()
            start = self._place()
            value = self.value()
            yield value, (start, self._place())

    def _place(self) -> int:
        at, place = self._known
        piece = self._text[at : self._at]
        self._known = self._at, place + (len(piece) if piece.isascii() else len(piece.encode()))
        return self._known[1]

    def more(self) -> bool:
        """Return whether another field follows the messages."""
        return self.take(",", "}") == ","

    def end(self) -> None:
        if self._blank():
            raise ValueError("text after the request")


def _message(value: Any, number: int, marks: dict[tuple[int, int], Json]) -> Message:
    if not isinstance(value, dict) or not isinstance(value.get("content"), str | list):
        raise ValueError(f"messages.{number} is not a message")
    if value.get("role") not in ("user", "assistant"):
        raise ValueError(f"messages.{number} has a role other than user and assistant")
    blocks = _blocks(value["content"])
    return {**value, "content": [_unmarked(block, (number, at), marks) for at, block in enumerate(blocks)]}


def _preamble(fields: dict[str, Any]) -> dict[str, Json]:
    system = fields.get("system") or ()
    texts = [system] if isinstance(system, str) else [str(block.get("text", "")) for block in system]
    tools = [{key: value for key, value in tool.items() if key != MARK} for tool in fields.get("tools") or ()]
    return {"system": texts, "tools": tools}


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


_SUMMARIES = (
    "This session is being continued from a previous conversation",
    "The conversation history before this point was compacted into the following summary",
)
"""How the summaries of Claude Code and pi begin."""
_TAGGED = re.compile(r"<summary>(.*)</summary>", re.DOTALL)


def begins_summary(text: str) -> bool:
    return text.startswith(_SUMMARIES)


def is_summary(message: Message) -> bool:
    """Return whether a message holds its program's summary of an earlier conversation."""
    return any(begins_summary(str(block.get("text", ""))) for block in _blocks(message["content"]))


def summary_in(answer: str) -> str:
    """Return the end of a summary as an answer has it. Programs keep the words and change what is around them."""
    found = _TAGGED.search(answer)
    return (found[1] if found else answer).strip()[-200:]


def text_of(message: Message) -> str:
    return "\n".join(str(block.get("text", "")) for block in _blocks(message["content"]))


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
    for number in range(len(request.messages)):
        raw = request.bytes_of(number, number + 1)
        message, _ = _DECODER.raw_decode(raw.decode())
        blocks = _blocks(message["content"])
        left = [block for block in blocks if block.get("type") not in _UNMARKABLE]
        if len(left) == len(blocks):
            messages.append(raw)
            continue
        messages += [as_bytes({**message, "content": left})] if left else []
        messages += request.asides_of(number, number + 1)
    return request.with_messages(messages)


def as_bytes(value: Json) -> bytes:
    """Return compact JSON. Only ASCII, so that half an emoji of a program survives."""
    return json.dumps(value, separators=(",", ":")).encode()
