"""What does the prompt cache see? A request as a sequence of blocks: tools, system, the messages' blocks.

A block is a key (equal blocks have equal keys, `cache_control` left out), its tokens and the lifetime asked for by
its breakpoint. The order of keys inside a tool's input or schema counts, as it does for the service.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.endpoint.images import Picture
from tests.endpoint.shape import Json

_WIDE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class RenderedBlock:
    """One block of the prompt. `ttl` is "5m" or "1h" on a breakpoint, "" elsewhere; `thinking` says that the
    block may carry none."""

    key: bytes
    tokens: int
    ttl: str = ""
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as the cache sees it. `preamble` counts the blocks of tools and system. `model` and `parameters`
    (tool choice, thinking) are no blocks: another model shares nothing, other parameters nothing behind the
    preamble."""

    blocks: tuple[RenderedBlock, ...]
    preamble: int
    model: str
    parameters: str

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt."""
        return sum(block.tokens for block in self.blocks)


def compact(value: Json) -> str:
    """JSON without spaces, in the order given, non-ASCII as it is."""
    return _ENCODER.encode(value)


def render(
    kind: str,
    block: Mapping[str, Json],
    ttl: str,
    per_token: int,
    pictures: Iterable[Picture] = (),
    sealed: int = 0,
) -> RenderedBlock:
    """A block of this kind ("tool", "system", "user" or "assistant"). Its tokens: ceil(length / per_token) of
    what the model reads, at least 1, and its pictures' own. `sealed` characters are read instead of the visible
    ones, where there are some."""
    text = compact(_unmarked(block))
    key = hashlib.blake2b(f"{kind}\0{text}".encode(), digest_size=16).digest()
    tokens = (
        max(1, math.ceil((sealed or _length(kind, block)) / per_token))
        if block.get("type") not in _SEEN
        else 0
    )
    tokens += sum(picture.tokens for picture in pictures)
    return RenderedBlock(key, tokens, ttl, block.get("type") in ("thinking", "redacted_thinking"))


_SEEN = ("image", "document")


def _unmarked(block: Mapping[str, Json]) -> dict[str, Json]:
    """The block without cache_control, its own keys sorted; what stands in its values keeps its order."""
    plain = {key: block[key] for key in sorted(block) if key != "cache_control" and block[key] is not None}
    content = plain.get("content")
    if isinstance(content, list):
        plain["content"] = [_unmarked(item) for item in content]
    return plain


def length(text: str) -> float:
    """Characters of a text. A Chinese, Japanese or Korean one counts for two and a half."""
    return len(text) + (0 if text.isascii() else 1.5 * len(_WIDE.findall(text)))


def _length(kind: str, block: Mapping[str, Json]) -> float:
    """The length of what counts as tokens: texts, names, inputs and schemas; no ids, signatures or image data."""
    if kind == "tool":
        return length(compact(_unmarked(block)))
    match block["type"]:
        case "text":
            return length(block["text"])
        case "thinking":
            return length(block["thinking"])
        case "redacted_thinking":
            return length(block["data"])
        case "tool_use":
            return length(block["name"]) + length(compact(block["input"]))
        case "tool_result":
            content = block.get("content") or ""
            if isinstance(content, str):
                return length(content)
            return sum(_length("user", item) for item in content)
        case "compaction":
            return length(block["content"])
        case "image" | "document":
            return 0
    return length(compact(_unmarked(block)))
