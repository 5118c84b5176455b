"""Content blocks and what the endpoint reports with them: the parts of every message.

Frozen values in the shape of Anthropic's Messages API. Text is kept byte for byte; a block this version does
not know is carried along as it came.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""A JSON value: what json.loads gives."""

INVALID_INPUT = "__invalid_json__"
"""Key of a tool input that was not valid JSON: its value is the raw text. Such a call is never executed."""


@dataclass(frozen=True, slots=True)
class Text:
    """Words, of the user, the model or a tool."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning with the signature that the endpoint checks; both are replayed byte for byte.

    An empty signature means that the endpoint gives none (local servers); it is then sent back without one.
    """

    thinking: str
    signature: str


@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """Reasoning that only the endpoint can read."""

    data: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool by the model. An input that was no JSON object is `{INVALID_INPUT: raw text}`."""

    id: str
    name: str
    input: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, base64 in `data`; width and height in pixels, 0 where unknown."""

    media_type: str
    data: str
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Blob:
    """Stands for a text or an image that lies in `blobs/<sha256>` beside the log; `bytes` is its length there."""

    sha256: str
    bytes: int
    media_type: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block of a kind this version does not know, kept as it came."""

    json: Mapping[str, Json]


Block: TypeAlias = Text | Thinking | RedactedThinking | ToolUse | Image | Blob | Opaque


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request as the endpoint reported them; the cache fields are None where it reports none."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the whole prompt: new, read from the cache and written to it."""
        return (
            self.input_tokens + (self.cache_read_input_tokens or 0) + (self.cache_creation_input_tokens or 0)
        )

    def plus(self, other: "Usage") -> "Usage":
        """The tokens of both; a count that only one of them reports is that one's."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            _sum(self.cache_read_input_tokens, other.cache_read_input_tokens),
            _sum(self.cache_creation_input_tokens, other.cache_creation_input_tokens),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is other is None else (one or 0) + (other or 0)


def is_image(block: Block) -> bool:
    """Whether it is an image, however its bytes are given."""
    match block:
        case Image() | Opaque({"type": "image"}):
            return True
        case Blob(media_type=media_type):
            return media_type.startswith("image/")
        case _:
            return False


def thinking_blocks(content: tuple[Block, ...]) -> int:
    """How many blocks of a content are thinking that is sent back: those that the endpoint signed."""
    signed = [block for block in content if isinstance(block, Thinking) and block.signature]
    return len(signed) + sum(isinstance(block, RedactedThinking) for block in content)


def plain_text(content: tuple[Block, ...]) -> str:
    """The text blocks of a content joined by newlines; other blocks are left out."""
    return "\n".join(block.text for block in content if isinstance(block, Text))


def tool_uses(content: tuple[Block, ...]) -> tuple[ToolUse, ...]:
    """The calls in a content, in order."""
    return tuple(block for block in content if isinstance(block, ToolUse))
