"""JSON for the values: blocks and usage to and from JSON, strict reading, canonical bytes.

Canonical bytes are UTF-8 with sorted keys, made once for each block and joined into request bodies.
"""

import json
import re
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring
from math import isinf
from sys import intern
from typing import NoReturn, TypeGuard

from prunecli.model.messages import (
    PDF,
    Blob,
    Block,
    Document,
    Image,
    Json,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    Usage,
)

_PLAIN = frozenset((int, float, bool, type(None)))
_SURROGATES = re.compile("[\ud800-\udfff]")
_MAX_DIGITS = 40
_BOM = b"\xef\xbb\xbf"
MAX_DEPTH = 100
"""Maximum nesting of JSON from other programs.

No program writes more than a dozen levels, and Python's own limit depends on its version.
"""
MOST_COUNTED = 10**9
"""More tokens than any prompt has. A larger count from an endpoint is a mistake, and counts as unknown."""
CACHED_1H = "ephemeral_1h_input_tokens"
"""The count of tokens cached for an hour, in the object `cache_creation` of a usage."""


def well_formed(text: str) -> str:
    """Replace lone surrogates with U+FFFD, so that the text can be encoded."""
    if text.isascii():
        return text
    try:
        text.encode()  # much faster than searching for surrogates
    except UnicodeEncodeError:
        return _replaced(text)
    return text


def _replaced(text: str) -> str:
    return _SURROGATES.sub("\ufffd", text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def well_formed_json(value: Json) -> Json:
    """Return a JSON value with each string `well_formed`, including keys."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):  # not Mapping: that check would dominate
        return {
            intern(key if key.isascii() else well_formed(key)): (
                item
                if type(item) in _PLAIN or (type(item) is str and item.isascii())
                else well_formed_json(item)
            )
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [well_formed_json(item) for item in value]
    return value if type(value) in _PLAIN else _of_mapping(value)


def _of_mapping(value: Json) -> Json:
    return well_formed_json(dict(value)) if isinstance(value, Mapping) else value


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Json) -> bytes:
    """Return sorted, compact UTF-8 JSON. Raises ValueError for NaN and infinities."""
    return _CANONICAL.encode(value).encode()


def canonical_string(text: str) -> bytes:
    """Return `canonical` of a string, in a third of the time."""
    return encode_basestring(text).encode()


# Blocks ------------------------------------------------------------------------------------------------------


def block_to_json(block: Block) -> dict[str, Json]:
    """Return the block in the log's form: Anthropic's form plus an image's size and a blob's reference."""
    match block:
        case Text(text, citations):
            cited = {"citations": [dict(citation) for citation in citations]} if citations else {}
            return {"type": "text", "text": text, **cited}
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
        case Document(media_type, data, pages):
            source = {"type": "base64", "media_type": media_type, "data": data}
            return {"type": "document", "source": source, **({"pages": pages} if pages else {})}
        case Blob(sha256, size_, media_type):
            return {"type": "blob", "sha256": sha256, "bytes": size_, "media_type": media_type}
        case Opaque(value):
            return dict(value)


def block_from_json(value: Mapping[str, Json]) -> Block:
    """Return the block described by a JSON object of the log or the wire. Raises ValueError if malformed."""
    try:
        match value.get("type"):
            case "text":
                return Text(string(value["text"]), _citations(value.get("citations")))
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
            case "document" if value.keys() <= _DOCUMENT_KEYS and _is_pdf(value.get("source")):
                return Document(PDF, string(value["source"]["data"]), _size(value.get("pages")))
            case "blob":
                return Blob(string(value["sha256"]), _size(value["bytes"]), string(value["media_type"]))
            case None | str():
                return Opaque(mapping(value))
            case other:
                raise ValueError(f"the block type is not a string: {other!r:.40}")
    except KeyError as error:
        raise ValueError(f"a {value.get('type')} block without {error.args[0]}") from error


_DOCUMENT_KEYS = frozenset(("type", "source", "pages"))


def _is_pdf(source: Json) -> bool:
    """Return whether this is the source of a `Document`; a document of another kind is kept unchanged."""
    known = isinstance(source, Mapping) and source.keys() == {"type", "media_type", "data"}
    return known and source["type"] == "base64" and source["media_type"] == PDF


def _citations(value: Json) -> tuple[Mapping[str, Json], ...]:
    """Return the citations of a text; () unless all are objects."""
    usable = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return tuple(map(mapping, value)) if usable else ()


def _size(value: Json) -> int:
    """Return a size, 0 if invalid; it is only used for display and estimates."""
    return value if type(value) is int and 0 <= value < 10**12 else 0


def content_from_json(value: Json) -> tuple[Block, ...]:
    """Return a message's content: a string or a list of blocks. Raises ValueError for anything else."""
    if isinstance(value, str):
        return (Text(well_formed(value)),)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("content is neither a string nor a list of blocks")
    return tuple([block_from_json(item) for item in value])


def content_to_json(content: tuple[Block, ...]) -> list[dict[str, Json]]:
    return [block_to_json(block) for block in content]


def string(value: Json) -> str:
    """Return the value as a well-formed string. Raises ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"expected a string, got {type(value).__name__}")
    return value if value.isascii() else well_formed(value)


def mapping(value: Json) -> dict[str, Json]:
    """Return the value as an object of well-formed strings. Raises ValueError for anything else."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {type(value).__name__}")
    clean: dict[str, Json] = well_formed_json(value)
    return clean


def usage_to_json(usage: Usage) -> dict[str, Json]:
    """Return the usage in the API's names; unreported fields are omitted."""
    pairs = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
    }
    plain: dict[str, Json] = {key: count for key, count in pairs.items() if count is not None}
    return {
        **plain,
        **nested_counts(
            usage.web_search_requests, usage.cache_1h_input_tokens, usage.cache_creation_input_tokens
        ),
    }


def nested_counts(searches: int | None, hour: int | None, written: int | None) -> dict[str, Json]:
    """Return the objects in a usage: the searches, and the written tokens by lifetime, of which `hour` last an
    hour."""
    found: dict[str, Json] = {}
    if searches is not None:
        found["server_tool_use"] = {"web_search_requests": searches}
    if hour is not None:
        found["cache_creation"] = {
            "ephemeral_5m_input_tokens": max(0, (written or 0) - hour),
            CACHED_1H: hour,
        }
    return found


def usage_from_json(value: Mapping[str, Json]) -> Usage:
    """Return the usage from the API's names; absent or null fields stay unknown."""

    def count(key: str) -> int | None:
        found = value.get(key)
        return None if found is None else int(found)

    return Usage(
        count("input_tokens") or 0,
        count("output_tokens") or 0,
        count("cache_read_input_tokens"),
        count("cache_creation_input_tokens"),
        searches_of(value),
        cached_1h_of(value),
    )


def searches_of(usage: Mapping[str, Json]) -> int | None:
    """Return the billed searches in the usage that the API reports, None if it reports none."""
    return _count_in(usage.get("server_tool_use"), "web_search_requests")


def cached_1h_of(usage: Mapping[str, Json]) -> int | None:
    """Return the tokens in the usage that are cached for an hour, None if the API reports no lifetimes."""
    return _count_in(usage.get("cache_creation"), CACHED_1H)


def counts_of(usage: Mapping[str, Json]) -> dict[str, int]:
    """Return the counts in a usage, with those of cached tokens by lifetime."""
    written = usage.get("cache_creation")
    every = {**written, **usage} if isinstance(written, Mapping) else usage
    return {key: count for key, count in every.items() if is_count(count)}


def is_count(value: Json) -> TypeGuard[int]:
    """Return whether a value from an endpoint can be a number of tokens, searches or the like."""
    return type(value) is int and 0 <= value <= MOST_COUNTED


def _count_in(value: Json, key: str) -> int | None:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if is_count(found) else None


def strict_loads(data: bytes | str, levels: int = MAX_DEPTH) -> Json:
    """Parse JSON strictly, without NaN, huge integers, duplicate keys or deep nesting.

    Raises ValueError.
    """
    text = data.removeprefix(_BOM).decode() if isinstance(data, bytes) else data
    try:
        value = _decoded(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP % levels) from error
    if len(text) > 2 * levels and text.count("[") + text.count("{") > levels and nests_deeper(value, levels):
        raise ValueError(_TOO_DEEP % levels)
    return value


def foreign_object(data: bytes | str | None) -> dict[str, Json]:
    """Parse a JSON object that another program wrote; return {} for anything else."""
    try:
        value = json.loads(data or "")
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


_TOO_DEEP = "nested more than %d levels deep"


def _decoded(text: str) -> Json:
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        end = -1
    return (
        value if end == len(text) else _STRICT.decode(text)
    )  # trailing text: white space, or an error to raise


def nests_deeper(value: Json, levels: int) -> bool:
    """Return whether lists and objects are nested more than this many levels deep; works without recursion."""
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
