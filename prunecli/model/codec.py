"""JSON of the model: blocks and records to and from JSON values, log lines with their crc, canonical bytes.

Two encodings: log lines are ASCII, so that no byte of text can be taken for a line end; canonical bytes are
UTF-8 with sorted keys, made once for each block and joined into request bodies.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn
from zlib import crc32

from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingChanged,
    ToolResult,
    ToolStarted,
    Unknown,
    UserMessage,
)
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

_SURROGATES = re.compile("[\ud800-\udfff]")
_MAX_DIGITS = 40


def well_formed(text: str) -> str:
    """The text with every lone surrogate as U+FFFD, so that it can be encoded and sent."""
    if text.isascii() or not _SURROGATES.search(text):
        return text
    return _SURROGATES.sub("\ufffd", text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def well_formed_json(value: Json) -> Json:
    """A JSON value with each string `well_formed`, keys too."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {well_formed(key): well_formed_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [well_formed_json(item) for item in value]
    return value


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
_ASCII = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Json) -> bytes:
    """Sorted, compact UTF-8 JSON. Raises ValueError for NaN and infinities."""
    return _CANONICAL.encode(value).encode()


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
                return Text(_string(value["text"]))
            case "tool_use":
                return ToolUse(_string(value["id"]), _string(value["name"]), _mapping(value["input"]))
            case "thinking":
                return Thinking(_string(value["thinking"]), _string(value.get("signature") or ""))
            case "redacted_thinking":
                return RedactedThinking(_string(value["data"]))
            case "image" if (
                isinstance(value.get("source"), Mapping) and value["source"].get("type") == "base64"
            ):
                source = value["source"]
                return Image(
                    _string(source["media_type"]),
                    _string(source["data"]),
                    int(value.get("width", 0)),
                    int(value.get("height", 0)),
                )
            case "blob":
                return Blob(_string(value["sha256"]), int(value["bytes"]), _string(value["media_type"]))
            case _:
                return Opaque(dict(value))
    except KeyError as error:
        raise ValueError(f"a {value.get('type')} block without {error.args[0]}") from error


def content_from_json(value: Json) -> tuple[Block, ...]:
    """A message's content: a string or a list of blocks. Raises ValueError for anything else."""
    if isinstance(value, str):
        return (Text(well_formed(value)),)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise ValueError("content is neither a text nor a list of blocks")
    return tuple(block_from_json(item) for item in value)


def content_to_json(content: tuple[Block, ...]) -> list[dict[str, Json]]:
    """The blocks of a content as a JSON list."""
    return [block_to_json(block) for block in content]


def _string(value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a text, got {type(value).__name__}")
    return well_formed(value)


def _mapping(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {type(value).__name__}")
    clean: dict[str, Json] = well_formed_json(value)
    return clean


# Usage and edits ---------------------------------------------------------------------------------------------


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


def edit_to_json(edit: Edit) -> dict[str, Json]:
    """The edit in the keys of `prunecli context --json`."""
    return {
        "kind": edit.kind,
        "seq": edit.seq,
        "tool_use_id": edit.tool_use_id,
        "text": edit.text,
        "tokens_before": edit.tokens_before,
        "tokens_after": edit.tokens_after,
    }


def edit_from_json(value: Mapping[str, Json]) -> Edit:
    """The edit that the log recorded. Raises KeyError or ValueError for a malformed one."""
    return Edit(
        value["kind"],
        int(value["seq"]),
        value.get("tool_use_id"),
        value.get("text"),
        int(value.get("tokens_before", 0)),
        int(value.get("tokens_after", 0)),
    )


# Events ------------------------------------------------------------------------------------------------------


def _payload(event: Event) -> dict[str, Json]:
    match event:
        case UserMessage(content, origin):
            return {"content": content_to_json(content), "origin": origin}
        case AssistantMessage():
            return {
                "content": content_to_json(event.content),
                "model": event.model,
                "stop_reason": event.stop_reason,
                "usage": usage_to_json(event.usage),
                "request_id": event.request_id,
                "duration_ms": event.duration_ms,
            }
        case ToolResult():
            return {
                "tool_use_id": event.tool_use_id,
                "tool_name": event.tool_name,
                "is_error": event.is_error,
                "content": content_to_json(event.content),
                "details": event.details,
                "duration_ms": event.duration_ms,
            }
        case PrunApplied():
            return {
                "source": event.source,
                "strategy": event.strategy,
                "edits": [edit_to_json(edit) for edit in event.edits],
                "pruned_timestamps": event.pruned_timestamps,
                "tokens_removed": event.tokens_removed,
                "messages_removed": event.messages_removed,
                "memo": event.memo,
                "reason": event.reason,
            }
        case CompactionApplied():
            fields = {name: getattr(event, name) for name in event.__slots__}
            return {**fields, "usage": usage_to_json(event.usage)}
        case Unknown(_, payload):
            return dict(payload)
        case _:
            return {name: getattr(event, name) for name in event.__slots__}


def _seqs(value: Json) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise ValueError("expected a list of integers")
    return tuple(value)


_Read = Callable[[Mapping[str, Any]], Event]
_READERS: dict[str, _Read] = {
    "SessionStarted": lambda p: SessionStarted(
        id=_string(p["id"]),
        cwd=_string(p["cwd"]),
        model=_string(p["model"]),
        version=int(p["version"]),
        parent=p.get("parent"),
        requires=tuple(p.get("requires") or ()),
    ),
    "UserMessage": lambda p: UserMessage(content_from_json(p["content"]), p.get("origin", "prompt")),
    "AssistantMessage": lambda p: AssistantMessage(
        content_from_json(p["content"]),
        p.get("model") or "",
        p.get("stop_reason") or "",
        usage_from_json(p.get("usage") or {}),
        p.get("request_id") or "",
        int(p.get("duration_ms") or 0),
    ),
    "ToolStarted": lambda p: ToolStarted(
        _string(p["tool_use_id"]), _string(p["tool_name"]), _mapping(p["input"])
    ),
    "ToolResult": lambda p: ToolResult(
        _string(p["tool_use_id"]),
        _string(p.get("tool_name") or ""),
        content_from_json(p["content"]),
        bool(p.get("is_error", False)),
        p.get("details") or {},
        int(p.get("duration_ms") or 0),
    ),
    "PrunApplied": lambda p: PrunApplied(
        p["source"],
        tuple(edit_from_json(edit) for edit in p["edits"]),
        p.get("strategy"),
        _seqs(p.get("pruned_timestamps") or []),
        int(p.get("tokens_removed") or 0),
        int(p.get("messages_removed") or 0),
        p.get("memo"),
        p.get("reason") or "",
    ),
    "PrunReverted": lambda p: PrunReverted(_seqs(p["seqs"])),
    "Pinned": lambda p: Pinned(_seqs(p["seqs"]), bool(p.get("pinned", True))),
    "Rewound": lambda p: Rewound(int(p["to_seq"])),
    "CompactionApplied": lambda p: CompactionApplied(
        _string(p["summary"]),
        int(p["head_end"]),
        int(p["tail_start"]),
        int(p.get("tokens_before") or 0),
        int(p.get("tokens_after") or 0),
        p.get("focus") or "",
        p.get("model") or "",
        usage_from_json(p.get("usage") or {}),
    ),
    "RequestSent": lambda p: RequestSent(
        p["model"], int(p["tokens"]), _string(p["sha256"]), _seqs(p.get("cache_marks") or [])
    ),
    "SettingChanged": lambda p: SettingChanged(_string(p["key"]), p["value"]),
    "RunEnded": lambda p: RunEnded(p["reason"]),
}


def event_type(event: Event) -> str:
    """The event's name in the log."""
    return event.type if isinstance(event, Unknown) else type(event).__name__


# Records and lines -------------------------------------------------------------------------------------------


def record_to_json(record: Record) -> dict[str, Json]:
    """The record as one JSON object, without its crc."""
    event = record.event
    return {"seq": record.seq, "timestamp": record.timestamp, "type": event_type(event), **_payload(event)}


def encode_record(record: Record) -> bytes:
    """The record's line in the log: ASCII JSON, the crc of the bytes before it as last key, one newline.

    Raises ValueError for a value that JSON has no form for.
    """
    body = _ASCII.encode(record_to_json(record))[:-1].encode("ascii")
    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


def decode_record(line: bytes) -> Record:
    """The record of one line (without its line end). Raises ValueError with the reason for a damaged one."""
    head, mark, tail = line.rpartition(b',"crc":"')
    if not mark or len(tail) != 10 or not tail.endswith(b'"}'):
        raise ValueError("no checksum at the end")
    if tail[:8] != b"%08x" % crc32(head):
        raise ValueError("the checksum does not match")
    return record_from_json(strict_loads(head + b"}"))


def record_from_json(value: Json) -> Record:
    """The record of a JSON object. Raises ValueError for a malformed one."""
    if not isinstance(value, dict):
        raise ValueError("not an object")
    seq, timestamp, kind = value.pop("seq", None), value.pop("timestamp", None), value.pop("type", None)
    if type(seq) is not int or type(timestamp) is not int or seq < 0:
        raise ValueError("seq and timestamp must be integers")
    if not isinstance(kind, str):
        raise ValueError("no type")
    value.pop("crc", None)
    read = _READERS.get(kind)
    if read is None:
        return Record(seq, timestamp, Unknown(kind, value))
    try:
        return Record(seq, timestamp, read(value))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"malformed {kind}: {error}") from error


def strict_loads(data: bytes | str) -> Json:
    """json.loads without its leniences: no NaN, no huge integers, no duplicate keys, bounded depth.

    Raises ValueError.
    """
    try:
        return _STRICT.decode(data.decode("utf-8-sig") if isinstance(data, bytes) else data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate keys")
    return found


_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_int=_bounded_int)
