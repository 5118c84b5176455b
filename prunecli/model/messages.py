"""Content blocks and usage: the parts of every message.

Frozen values in the shape of Anthropic's Messages API. Text is kept byte for byte; unknown blocks are kept unchanged.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from prunecli.util.frozen import frozen

Json: TypeAlias = Any
"""A JSON value, as json.loads returns it."""

PDF = "application/pdf"
"""The media type of a `Document`."""

INVALID_INPUT = "__invalid_json__"
"""Key of a tool input that was not valid JSON; its value is the raw text. The call is not executed."""


OTHER_WIRE = "wire:"
"""Begins the signature of thinking that came over another protocol than the Messages API, which would reject it, and
the names of that protocol's optional fields."""


@frozen
class Text:
    """Text by the user, the model or a tool. `citations` are those of an answer, as the endpoint sent them."""

    text: str
    citations: tuple[Mapping[str, Json], ...] = ()


@frozen
class Thinking:
    """The model's thinking with its signature; both are replayed byte for byte.

    The signature is empty if the endpoint gives none (local servers); the block is then sent back without one.
    """

    thinking: str
    signature: str


@frozen
class RedactedThinking:
    """Thinking that only the endpoint can read."""

    data: str


@frozen
class ToolUse:
    """A tool call by the model. An input that is not a JSON object becomes `{INVALID_INPUT: raw text}`."""

    id: str
    name: str
    input: Mapping[str, Json]


@frozen
class Image:
    """An image, base64 in `data`; width and height in pixels, 0 if unknown."""

    media_type: str
    data: str
    width: int = 0
    height: int = 0


@frozen
class Document:
    """A PDF document, base64 in `data`; `pages` is 0 if unknown."""

    media_type: str
    data: str
    pages: int = 0


@frozen
class Media:
    """The media that the session's model accepts.

    `vision`: it accepts images. `documents`: it accepts PDF files unchanged. `edge` and `pixels` are the size above
    which the endpoint itself shrinks an image. `model` is its name, for messages.
    """

    vision: bool = True
    documents: bool = False
    edge: int = 1568
    pixels: int = 1_150_000
    model: str = "this model"


@frozen
class Blob:
    """A reference to a text, an image or a document in `blobs/<sha256>` beside the log, and its length."""

    sha256: str
    bytes: int
    media_type: str


@frozen
class Opaque:
    """A block of an unknown kind, kept unchanged."""

    json: Mapping[str, Json]


Block: TypeAlias = Text | Thinking | RedactedThinking | ToolUse | Image | Document | Blob | Opaque


@frozen
class Usage:
    """Tokens of one request as reported; the cache fields are None if not reported. `web_search_requests` is the
    number of the endpoint's own searches, each of which is billed. `cache_1h_input_tokens` is the part of the tokens
    written to the cache that stays there for an hour; the rest stays for five minutes."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    web_search_requests: int | None = None
    cache_1h_input_tokens: int | None = None

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the whole prompt: new, read from the cache and written to it."""
        return (
            self.input_tokens + (self.cache_read_input_tokens or 0) + (self.cache_creation_input_tokens or 0)
        )

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum of two usages; a count that only one of them reports is kept."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            _sum(self.cache_read_input_tokens, other.cache_read_input_tokens),
            _sum(self.cache_creation_input_tokens, other.cache_creation_input_tokens),
            _sum(self.web_search_requests, other.web_search_requests),
            _sum(self.cache_1h_input_tokens, other.cache_1h_input_tokens),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is other is None else (one or 0) + (other or 0)


def is_media(block: Block) -> bool:
    """Return whether a block is an image or a document, inline or in a blob."""
    match block:
        case Text():
            return False
        case Image() | Document() | Opaque({"type": "image"}):
            return True
        case Blob(media_type=media_type):
            return media_type.startswith(("image/", PDF))
        case _:
            return False


def sendable(content: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return an answer's blocks without thinking at the end, left by a length limit: no endpoint accepts it there."""
    last = len(content)
    while last and (isinstance(block := content[last - 1], (Thinking, RedactedThinking)) or _is_blank(block)):
        last -= 1
    return content if all(map(_is_blank, content[last:])) else content[:last]


def _is_blank(block: Block) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def thinking_blocks(content: tuple[Block, ...]) -> int:
    """Return the number of thinking blocks that are sent back: those the endpoint signed."""
    blocks = [block for block in sendable(content) if isinstance(block, (Thinking, RedactedThinking))]
    return sum([isinstance(block, RedactedThinking) or bool(block.signature) for block in blocks])


def plain_text(content: tuple[Block, ...]) -> str:
    """Return the text blocks of the content, joined by newlines; other blocks are omitted."""
    return "\n".join(block.text for block in content if isinstance(block, Text))


def tool_uses(content: tuple[Block, ...]) -> tuple[ToolUse, ...]:
    """Return the calls in the content, in order."""
    return tuple([block for block in content if isinstance(block, ToolUse)])
