"""What does the model say? Replies as values: blocks, how they are cut into deltas, and the faults they meet.

A script is a sequence of replies, faults and plain strings, played in order, or a callable
`(request_json, index) -> reply`.
"""

import json as codec
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tests.endpoint.faults import CutToolJson, Fault
from tests.endpoint.shape import Json


@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning. `signature` None: the endpoint signs it; "": it is sent unsigned; else sent as it is."""

    thinking: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Redacted:
    """Reasoning that only the endpoint can read; `data` overrides the sealed form."""

    secret: str = "redacted"
    data: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. `id` None: a fresh one, toolu_...; `json` overrides the streamed text of the input, which
    need not be JSON."""

    name: str
    input: Mapping[str, Json] = field(default_factory=dict)
    id: str | None = None
    json: str | None = None

    @property
    def text(self) -> str:
        """The streamed text of the input."""
        return codec.dumps(self.input, ensure_ascii=False) if self.json is None else self.json


@dataclass(frozen=True, slots=True)
class Raw:
    """A block given as the events carry it, such as one of an unknown type: the content_block and its deltas. `whole`
    is the block with them, None if they add nothing."""

    start: Mapping[str, Json]
    deltas: tuple[Mapping[str, Json], ...] = ()
    whole: Mapping[str, Json] | None = None


Block: TypeAlias = Text | Thinking | Redacted | Call | Raw


@dataclass(frozen=True, slots=True)
class Reply:
    """One response.

    `content` is a string, a block or a sequence of both. `stop_reason` "" means "tool_use" when there are calls,
    else "end_turn"; any other text is sent as it is. `chunk` is the characters of a delta, `delay` the seconds
    between two events. `usage` overrides single fields of the computed usage, None leaves a field out;
    `cache_fields` off leaves the cache out of it, None takes the endpoint's setting. `split_surrogates` cuts
    characters beyond U+FFFF into two deltas with half a JSON escape each. `transformations` stand in place of those
    that the endpoint would report. `faults` happen to the response.
    """

    content: str | Block | Sequence[str | Block] = ()
    stop_reason: str = ""
    chunk: int = 40
    delay: float = 0.0
    usage: Mapping[str, Json] = field(default_factory=dict)
    cache_fields: bool | None = None
    pings: bool = True
    split_surrogates: bool = False
    stop_sequence: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    transformations: Sequence[Mapping[str, Json]] | None = None
    faults: Fault | Sequence[Fault] = ()

    def __post_init__(self) -> None:
        if self.chunk < 1:
            raise ValueError(f"chunk: {self.chunk} characters; a delta has at least one")

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The content, strings as text blocks."""
        content = [self.content] if isinstance(self.content, str | Block) else self.content
        return tuple(Text(item) if isinstance(item, str) else item for item in content)

    @property
    def all_faults(self) -> tuple[Fault, ...]:
        """The faults, also when a single one was given."""
        return (self.faults,) if isinstance(self.faults, Fault) else tuple(self.faults)

    @property
    def reason(self) -> str:
        """The stop reason that is sent."""
        return self.stop_reason or (
            "tool_use" if any(isinstance(block, Call) for block in self.blocks) else "end_turn"
        )

    def parts(self, text: str) -> list[str]:
        """The text in pieces of a delta; characters beyond U+FFFF cut in two where the reply says so."""
        if self.split_surrogates:
            return [half for character in text for half in _halves(character)]
        return [text[at : at + self.chunk] for at in range(0, len(text), self.chunk)]

    def cut_short(self) -> "Reply":
        """The reply up to where `CutToolJson` ends it: in the input of its last call."""
        cut = next((fault for fault in self.all_faults if isinstance(fault, CutToolJson)), None)
        if cut is None:
            return self
        calls = [(place, block) for place, block in enumerate(self.blocks) if isinstance(block, Call)]
        if not calls:
            raise ValueError("CutToolJson: the reply has no call")
        place, call = calls[-1]
        last = replace(call, json=call.text.encode()[: cut.at].decode(errors="ignore"))
        return replace(self, content=[*self.blocks[:place], last], stop_reason=cut.stop_reason)


def _halves(character: str) -> tuple[str, ...]:
    beyond = ord(character) - 0x10000
    return (character,) if beyond < 0 else (chr(0xD800 + (beyond >> 10)), chr(0xDC00 + (beyond & 0x3FF)))


Item: TypeAlias = Reply | Fault | str
Script: TypeAlias = Sequence[Item] | Callable[[Json, int], Item]

DEFAULT_REPLY = Reply("Done.")


class Replayer:
    """Gives the replies of a script one by one; behind its end the default. `loop` starts it over instead."""

    def __init__(self, script: Script, default: Item = DEFAULT_REPLY, loop: bool = False):
        self._script = script if callable(script) else tuple(script)
        self._default = default
        self._loop = loop
        self.played = 0

    @property
    def reads_requests(self) -> bool:
        """Whether the script wants to see the parsed request."""
        return callable(self._script)

    def next(self, request: Json) -> Reply:
        """The next reply. A fault alone happens to the default reply."""
        index = self.played
        self.played += 1
        if callable(self._script):
            return self._reply(self._script(request, index))
        if self._loop and self._script:
            return self._reply(self._script[index % len(self._script)])
        return self._reply(self._script[index] if index < len(self._script) else self._default)

    def _reply(self, item: Item) -> Reply:
        if isinstance(item, Reply):
            return item
        if isinstance(item, str):
            return Reply(item)
        base = self._default if isinstance(self._default, Reply) else DEFAULT_REPLY
        return Reply(base.content, faults=item)
