"""An endpoint with an exact prompt cache, and sessions played against it: what the figures are held against.

A block takes `factor` times as many tokens as o200k_base finds in its texts, an image one for 28 x 28 pixels,
thinking as many as its signature says. The longest cached prefix that ends at most 20 blocks before a breakpoint is
read, the rest is written. What was sent is cached up to each of its breakpoints, for `ttl_ms` behind the response or
the next one that reads it. Thinking is bound to what stood before it and to the thinking before that: where it no
longer fits it is dropped. Nothing here knows how prunecli estimates.
"""

import json
import random
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, Protocol
from zlib import crc32

from prunecli.agent.assemble import ModelSettings, cache_marks, summary_request
from prunecli.context import render
from prunecli.context.compaction import Options, plan_compaction
from prunecli.context.state import Context
from prunecli.context.tokens import TokenCounter
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    BilledReason,
    Event,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    SessionStarted,
    SettingChanged,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Document, Image, Json, RedactedThinking, Thinking, Usage
from prunecli.model.requests import PREAMBLE, Preamble, WireMessage
from prunecli.providers.tokenizer import SHIPPED

SYSTEM = ["You are an agent that works in a terminal. " * 60]
TOOLS = [
    {"name": name, "description": f"Runs {name}. " * 30, "input_schema": {}} for name in ("read", "bash")
]
UNREADABLE = {
    ("claude-sonnet-5-5", "claude-opus-5-5"),
    ("claude-haiku-5-5", "claude-opus-5-5"),
    ("claude-haiku-5-5", "claude-sonnet-5-5"),
}
"""Readers with writers whose thinking they are not shown."""
BACK = 20
"""Blocks at which a breakpoint looks for a stored prefix, its own included."""
PAGE = 1_700
"""Tokens of a page of a document. What a page takes depends on its text, so no estimate knows it."""


class Sendable(Protocol):
    """What makes up a request: a context, or the request for a summary of it."""

    preamble: Preamble

    def messages(self) -> Sequence[WireMessage]: ...


class Piece(NamedTuple):
    """A block of a request or its preamble; `ends`: it has a breakpoint."""

    key: object
    tokens: float
    ends: bool


def texts(block: Any) -> Iterator[str]:
    """The texts of a block on the wire."""
    match block:
        case {"type": "tool_use", "name": name, "input": given}:
            yield name + render.compact(given)
        case {"type": "tool_result", "content": content}:
            for inner in content:
                yield from texts(inner)
        case {"type": "text", "text": words} | {"type": "compaction", "content": words}:
            yield words
        case _:
            pass


@cache
def tokens_of(block: bytes) -> int:
    """o200k_base's tokens of a block."""
    return sum(map(SHIPPED.count, texts(json.loads(block))))


@cache
def tokens_of_preamble(part: bytes) -> int:
    """o200k_base's tokens of the system prompt or of a tool."""
    return SHIPPED.count(part.decode())


def images_of(block: Any) -> Iterator[int]:
    """The tokens of each image and document in a block on the wire."""
    match block:
        case {"type": "tool_result", "content": content}:
            for inner in content:
                yield from images_of(inner)
        case {"type": "image", "source": {"data": data}}:
            width, height = struct.unpack_from(">II", b64decode(data), 16)
            yield min(4_784, -(-width // 28) * -(-height // 28))
        case {"type": "document", "source": {"data": data}}:
            yield PAGE * b64decode(data)[-1]
        case _:
            pass


@cache
def image_tokens(block: bytes) -> int:
    """The tokens of a block's images and documents."""
    return sum(images_of(json.loads(block))) if b'"source"' in block else 0


def png(width: int, height: int) -> Image:
    """An image of this size, without pixels."""
    header = struct.pack(">4sIIBBBBB", b"IHDR", width, height, 8, 2, 0, 0, 0)
    chunks = (
        struct.pack(">I", len(one) - 4) + one + struct.pack(">I", crc32(one)) for one in (header, b"IEND")
    )
    data = b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
    return Image("image/png", b64encode(data).decode(), width, height)


def pdf(pages: int) -> Document:
    """A document of so many pages, without content."""
    return Document("application/pdf", b64encode(b"%%PDF%c" % pages).decode(), pages)


@cache
def signature_of(block: bytes) -> str:
    """The signature of thinking, "" for any other block."""
    found = json.loads(block)
    return str(found["signature"]) if found["type"] == "thinking" else ""


def signed(at: int) -> Thinking:
    """The thinking of an answer: its words are not shown, its signature carries its number and its tokens."""
    return Thinking("", f"{at}:{random.Random(at).choice([40, 200, 700, 3_000])}")


def thought_tokens(signature: str) -> int:
    """Tokens of the thinking with this signature."""
    return int(signature.partition(":")[2])


@dataclass
class Summary:
    """The request for a summary."""

    preamble: Preamble
    _messages: Sequence[WireMessage]

    def messages(self) -> Sequence[WireMessage]:
        return self._messages


@dataclass
class Endpoint:
    """Reports the usage of each request."""

    factor: float
    ttl_ms: int
    model: str = ""
    marks: Sequence[int] = ()
    _used: dict[int, int] = field(default_factory=dict)
    _bound: dict[str, tuple[int, str, str]] = field(default_factory=dict)

    def pieces(self, context: Sendable) -> list[Piece]:
        """The request of a context with the breakpoints of the last one, as the model sees it."""
        return self.read(context)[0]

    def upcoming(self, context: Context) -> list[Piece]:
        """The next request of a context with its breakpoints."""
        self.marks = cache_marks(context, len(context.messages()), model=self.model)
        return self.pieces(context)

    def read(self, context: Sendable) -> tuple[list[Piece], list[tuple[str, str]]]:
        """The next request, and the paths of the thinking that is dropped from it, with the reason. New thinking is
        bound to what stands before it."""
        preamble = (*context.preamble.system, *context.preamble.tools)
        pieces = [
            Piece((self.model, preamble), self.factor * sum(map(tokens_of_preamble, preamble)), ends=True)
        ]
        dropped, prefix, previous = list[tuple[str, str]](), hash(preamble), ""
        for number, message in enumerate(context.messages()):
            for place, block in enumerate(message.blocks):
                key = (message.role, block)
                if signature := signature_of(block):
                    path = f"messages.{number}.content.{place}"
                    bound, before, writer = self._bound.setdefault(signature, (prefix, previous, self.model))
                    if (self.model, writer) in UNREADABLE:
                        dropped.append((path, "model_binding_mismatch"))
                        continue
                    if bound != prefix or previous not in ("", before):
                        dropped.append((path, "prefix_binding_mismatch"))
                        continue
                    previous, tokens = signature, float(thought_tokens(signature))
                else:
                    prefix, tokens = hash((prefix, key)), self.factor * tokens_of(block) + image_tokens(block)
                last = place == len(message.blocks) - 1
                pieces.append(Piece(key, tokens, ends=number in self.marks and last))
        return pieces, dropped

    def cached(self, pieces: Sequence[Piece], sent: int) -> float:
        """Tokens that a request would read."""
        chain, whole, read, near = 0, 0.0, 0.0, list[float]()
        for piece in pieces:
            chain, whole = hash((chain, piece.key)), whole + piece.tokens
            near = [*near[1 - BACK :], whole if self._has(chain, sent) else 0.0]
            if piece.ends:
                read = max(read, *near)
        return read

    def _has(self, chain: int, sent: int) -> bool:
        return sent - self._used.get(chain, sent - self.ttl_ms - 1) <= self.ttl_ms

    def asked(self, pieces: Sequence[Piece], sent: int, answered: int) -> Usage:
        """The usage of a request; it is cached from now on."""
        read, chain, upto = self.cached(pieces, sent), 0, 0.0
        for piece in pieces:
            chain, upto = hash((chain, piece.key)), upto + piece.tokens
            if piece.ends or (upto <= read and self._has(chain, sent)):
                self._used[chain] = answered
        return Usage(0, 0, round(read), round(whole(pieces)) - round(read))

    def output(self, event: AssistantMessage) -> int:
        """Output tokens of an answer."""
        blocks = render.assistant(event.content, {})
        thought = sum(thought_tokens(signature) for one in blocks if (signature := signature_of(one)))
        return thought + round(self.factor * sum(map(tokens_of, blocks)))


def whole(pieces: Sequence[Piece]) -> float:
    """Tokens of all of them."""
    return sum(piece.tokens for piece in pieces)


@dataclass
class Played:
    """A session played against an endpoint, pruned and, beside it, as it would have gone on without any prune.

    `usages` are those of both with the model, request for request. With `thinks`, two of three answers begin with
    thinking.
    """

    endpoint: Endpoint
    unpruned: Endpoint
    context: Context
    bare: Context
    model: str
    thinks: bool = False
    records: list[Record] = field(default_factory=list)
    usages: list[tuple[str, Usage, Usage]] = field(default_factory=list)

    @property
    def now(self) -> int:
        """The time of the last record."""
        return self.records[-1].timestamp if self.records else 0

    def add(self, event: Event, at: int | None = None, bare: Event | None = None) -> Record:
        """Records an event; without prunes it would have been `bare`."""
        record = Record(len(self.records), max(self.now, at or 0), event)
        self.records.append(record)
        self.context.apply(record)
        if bare is not None:
            self.bare.apply(replace(record, event=bare))
        elif not isinstance(event, PrunApplied | PrunReverted):
            self.bare.apply(record)
        return record

    def ask(self) -> None:
        """A request goes out."""
        for endpoint, context in ((self.endpoint, self.context), (self.unpruned, self.bare)):
            endpoint.marks = cache_marks(context, len(context.messages()), model=self.model)
        sha256, marks = self.context.sha256(), tuple(self.endpoint.marks)
        sent = RequestSent(self.model, len(self.context.messages()), sha256, marks)
        self.add(sent, bare=replace(sent, cache_marks=tuple(self.unpruned.marks)))

    def use(self, model: str) -> None:
        """Another model goes on."""
        self.model = self.endpoint.model = self.unpruned.model = model
        self.add(SettingChanged("model.name", model))

    def billed(self, sent: int, at: int) -> tuple[Usage, Usage, list[tuple[str, str]]]:
        """The endpoint reads the last request, which nothing changed since: its usage, the one without prunes, and
        what it dropped."""
        pieces, dropped = self.endpoint.read(self.context)
        usage = self.endpoint.asked(pieces, sent, at)
        bare = self.unpruned.asked(self.unpruned.pieces(self.bare), sent, at)
        self.usages.append((self.model, usage, bare))
        return usage, bare, dropped

    def summarize(self, options: Options) -> None:
        """The model writes a summary of the middle of the session, if there is one."""
        plan = plan_compaction(self.context, options, 200_000)
        if plan is None:
            return
        usages = list[Usage]()
        for endpoint, context in ((self.endpoint, self.context), (self.unpruned, self.bare)):
            request = summary_request(context, ModelSettings(self.model), plan)
            endpoint.marks = request.cache_marks
            pieces = endpoint.pieces(Summary(context.preamble, request.messages))
            usages.append(replace(endpoint.asked(pieces, self.now, self.now), output_tokens=300))
        self.usages.append((self.model, usages[0], usages[1]))
        event = replace(plan.event(self.context, "The gist of it. " * 20, None), model=self.model)
        self.add(replace(event, usage=usages[0]), bare=replace(event, usage=usages[1]))

    def attempt(self, reason: BilledReason) -> None:
        """The last request is read, but not answered: the connection is cut, or the user stops it."""
        usage, *_ = self.billed(self.now, self.now)
        self.add(AttemptBilled(self.model, usage, reason))

    def answer(self, event: AssistantMessage, at: int) -> None:
        """This is the answer to the last request, or to one that goes out now."""
        if not isinstance(self.records[-1].event, RequestSent | AttemptBilled):
            self.ask()
        sent, at, thought = self.now, max(self.now, at), None
        usage, bare, dropped = self.billed(sent, at)
        content = tuple(one for one in event.content if not isinstance(one, Thinking | RedactedThinking))
        if self.thinks and content and len(self.records) % 3:
            thinking = signed(len(self.records))
            content, thought = (thinking, *content), thought_tokens(thinking.signature)
        event = replace(event, content=content, model=self.model, thinking_tokens=thought)
        output = self.endpoint.output(event)
        told: list[dict[str, Json]] = [
            {"type": "thinking_dropped", "path": path, "reason": why} for path, why in dropped
        ]
        without = replace(event, usage=replace(bare, output_tokens=output))
        usage = replace(usage, output_tokens=output)
        event = replace(event, usage=usage, input_transformations=told if self.thinks else None)
        self.add(event, at, without)
        if self.thinks:  # its thinking is bound now
            self.endpoint.read(self.context)
            self.unpruned.read(self.bare)


def play(
    records: Sequence[Record],
    model: str,
    factor: float,
    factor_of: Callable[[str], float],
    ttl_ms: int,
    before: Callable[[Played], None],
    asked: Callable[[Played], None] = lambda _: None,
    counter: TokenCounter = SHIPPED,
    *,
    thinks: bool = False,
) -> Played:
    """Plays the words, calls and results of a log. `before` is called before each request and may prune or undo;
    `asked` after it, and may have attempts at it that are not answered."""
    played = Played(
        Endpoint(factor, ttl_ms, model),
        Endpoint(factor, ttl_ms, model),
        Context(counter, factor_of),
        Context(counter, factor_of),
        model,
        thinks,
    )
    for record in records:
        match record.event:
            case SessionStarted() as event:
                played.add(replace(event, model=model), record.timestamp)
                played.add(SettingChanged(PREAMBLE, {"system": SYSTEM, "tools": TOOLS}))
            case AssistantMessage() as event:
                before(played)
                played.ask()
                asked(played)
                played.answer(event, record.timestamp)
            case UserMessage() | ToolResult() as event:
                played.add(event, record.timestamp)
            case _:
                pass
    return played
