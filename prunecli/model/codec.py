"""JSON of the values: blocks and usage to and from JSON, strict reading, canonical bytes.

Canonical bytes are UTF-8 with sorted keys, made once for each block and joined into request bodies.
"""

import json
import re
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring
from math import isinf
from sys import intern
from typing import NoReturn

from prunecli.model.messages import (
    Blob,
    Block,
    Image,
    Json,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    Usage,
)

_PLAIN = (int, float, type(None))
_SURROGATES = re.compile("[\ud800-\udfff]")
_MAX_DIGITS = 40
_BOM = b"\xef\xbb\xbf"
MAX_DEPTH = 100
"""Levels of nesting that JSON of others may have. No program writes more than a dozen; how many Python's own stack
would bear differs from version to version."""


def well_formed(text: str) -> str:
    """The text with every lone surrogate as U+FFFD, so that it can be encoded and sent."""
    if text.isascii():
        return text
    try:
        text.encode()  # many times faster than a search for what can't be encoded
    except UnicodeEncodeError:
        return _replaced(text)
    return text


def _replaced(text: str) -> str:
    return _SURROGATES.sub("\ufffd", text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def well_formed_json(value: Json) -> Json:
    """A JSON value with each string `well_formed`, keys too."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):  # not Mapping: asking that takes longer than all the rest
        return {intern(well_formed(key)): well_formed_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [well_formed_json(item) for item in value]
    return value if isinstance(value, _PLAIN) else _of_mapping(value)


def _of_mapping(value: Json) -> Json:
    return well_formed_json(dict(value)) if isinstance(value, Mapping) else value


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Json) -> bytes:
    """Sorted, compact UTF-8 JSON. Raises ValueError for NaN and infinities."""
    return _CANONICAL.encode(value).encode()


def canonical_string(text: str) -> bytes:
    """`canonical` of a text, in a third of the time."""
    return encode_basestring(text).encode()


# Blocks ------------------------------------------------------------------------------------------------------


def block_to_json(block: Block) -> dict[str, Json]:
    """The block as the log keeps it: Anthropic's shape, an image's size and a blob's reference beside it."""
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case ToolUse(id_, name, input_):
            return {"type": "tool_use", "id": id_, "name": name, "input": input_}
        case Thinking(thinking, signature):
            return {"type": "thinking", "thinking": thinking, "signature": signature}
        case RedactedThinking(data):
            return {"type": "redacted_thinking", "data": data}
        case Image(media_type, data, width, height):
            source = {"type": "base64", "media_type": media_type, "data": data}
            size = {"width": width, "height": height} if width and height else {}
            return {"type": "image", "source": source, **size}
        case Blob(sha256, size_, media_type):
            return {"type": "blob", "sha256": sha256, "bytes": size_, "media_type": media_type}
        case Opaque(value):
            return dict(value)


def block_from_json(value: Mapping[str, Json]) -> Block:
    """The block that a JSON object of the log or the wire describes. Raises ValueError for a malformed one."""
    try:
        match value.get("type"):
            case "text":
                return Text(string(value["text"]))
            case "tool_use":
                return ToolUse(string(value["id"]), string(value["name"]), mapping(value["input"]))
            case "thinking":
                return Thinking(string(value["thinking"]), string(value.get("signature") or ""))
            case "redacted_thinking":
                return RedactedThinking(string(value["data"]))
            case "image" if (
                isinstance(value.get("source"), Mapping) and value["source"].get("type") == "base64"
            ):
                source = value["source"]
                return Image(
                    string(source["media_type"]),
                    string(source["data"]),
                    _size(value.get("width")),
                    _size(value.get("height")),
                )
            case "blob":
                return Blob(string(value["sha256"]), _size(value["bytes"]), string(value["media_type"]))
            case None | str():
                return Opaque(mapping(value))
            case other:
                raise ValueError(f"a block whose type is no text: {other!r:.40}")
    except KeyError as error:
        raise ValueError(f"a {value.get('type')} block without {error.args[0]}") from error


def _size(value: Json) -> int:
    """A size, 0 where it is none that can be: it is only shown and estimated with."""
    return value if type(value) is int and 0 <= value < 10**12 else 0


def content_from_json(value: Json) -> tuple[Block, ...]:
    """A message's content: a string or a list of blocks. Raises ValueError for anything else."""
    if isinstance(value, str):
        return (Text(well_formed(value)),)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("content is neither a text nor a list of blocks")
    return tuple(block_from_json(item) for item in value)


def content_to_json(content: tuple[Block, ...]) -> list[dict[str, Json]]:
    """The blocks of a content as a JSON list."""
    return [block_to_json(block) for block in content]


def string(value: Json) -> str:
    """The value as a well-formed text. Raises ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"expected a text, got {type(value).__name__}")
    return well_formed(value)


def mapping(value: Json) -> dict[str, Json]:
    """The value as an object of well-formed texts. Raises ValueError for anything else."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {type(value).__name__}")
    clean: dict[str, Json] = well_formed_json(value)
    return clean


def usage_to_json(usage: Usage) -> dict[str, int]:
    """The usage in the API's names; cache fields the endpoint did not report are left out."""
    pairs = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
    }
    return {key: count for key, count in pairs.items() if count is not None}


def usage_from_json(value: Mapping[str, Json]) -> Usage:
    """The usage from the API's names; absent or null fields stay unknown."""

    def count(key: str) -> int | None:
        found = value.get(key)
        return None if found is None else int(found)

    return Usage(
        count("input_tokens") or 0,
        count("output_tokens") or 0,
        count("cache_read_input_tokens"),
        count("cache_creation_input_tokens"),
    )


def strict_loads(data: bytes | str, levels: int = MAX_DEPTH) -> Json:
    """json.loads without its leniences: no NaN, no huge integers, no duplicate keys, no more than so many levels.

    Raises ValueError.
    """
    text = data.removeprefix(_BOM).decode() if isinstance(data, bytes) else data
    try:
        value = _decoded(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP % levels) from error
    if text.count("[") + text.count("{") > levels and nests_deeper(value, levels):
        raise ValueError(_TOO_DEEP % levels)
    return value


_TOO_DEEP = "nested more than %d levels deep"


def _decoded(text: str) -> Json:
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        end = -1
    return value if end == len(text) else _STRICT.decode(text)  # blanks around it, or what it says is wrong


def nests_deeper(value: Json, levels: int) -> bool:
    """Whether lists and objects stand in each other more than so many levels deep; found without recursion."""
    level = [value]
    for _ in range(levels + 1):
        inner = [one for one in level if isinstance(one, dict | list) and one]
        if not inner:
            return False
        level = [item for one in inner for item in (one.values() if isinstance(one, dict) else one)]
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)


def _finite_float(digits: str) -> float:
    number = float(digits)
    if isinf(number):
        raise ValueError(f"{digits[:40]} is too large for a number")
    return number


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate keys")
    return found


_STRICT = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_constant=_refuse_constant,
    parse_int=_bounded_int,
    parse_float=_finite_float,
)
_SCAN: Callable[[str, int], tuple[Json, int]] = vars(_STRICT)["scan_once"]
