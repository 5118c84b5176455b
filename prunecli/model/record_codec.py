"""Records as lines of the log: ASCII JSON, the crc of the bytes before it as last key.

ASCII, so that no byte of text can be taken for a line end.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, get_args
from zlib import crc32

from prunecli.model.codec import (
    MAX_DEPTH,
    content_from_json,
    content_to_json,
    mapping,
    strict_loads,
    string,
    usage_from_json,
    usage_to_json,
)
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Event,
    FilesSaved,
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
from prunecli.model.messages import Json, Usage

_ASCII = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False)


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
        id=string(p["id"]),
        cwd=string(p["cwd"]),
        model=string(p["model"]),
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
        string(p["tool_use_id"]), string(p["tool_name"]), mapping(p["input"])
    ),
    "ToolResult": lambda p: ToolResult(
        string(p["tool_use_id"]),
        string(p.get("tool_name") or ""),
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
        string(p["summary"]),
        int(p["head_end"]),
        int(p["tail_start"]),
        int(p.get("tokens_before") or 0),
        int(p.get("tokens_after") or 0),
        p.get("focus") or "",
        p.get("model") or "",
        usage_from_json(p.get("usage") or {}),
    ),
    "RequestSent": lambda p: RequestSent(
        p["model"], int(p["tokens"]), string(p["sha256"]), _seqs(p.get("cache_marks") or [])
    ),
    "FilesSaved": lambda p: FilesSaved(
        string(p["tree"]),
        string(p["root"]),
        p["moment"],
        p.get("reason") or "tools",
        tuple(map(string, p.get("skipped") or ())),
        int(p.get("duration_ms") or 0),
    ),
    "SettingChanged": lambda p: SettingChanged(string(p["key"]), p["value"]),
    "RunEnded": lambda p: RunEnded(p["reason"]),
}

EVENT_TYPES = frozenset(_READERS)
"""The names of the events that this version knows."""


_KEYS: dict[str, frozenset[str]] = {
    kind.__name__: frozenset(kind.__slots__) for kind in get_args(Event) if kind is not Unknown
}
_BLOCK_KEYS: dict[Json, frozenset[str]] = {
    "text": frozenset(("type", "text")),
    "tool_use": frozenset(("type", "id", "name", "input")),
    "thinking": frozenset(("type", "thinking", "signature")),
    "redacted_thinking": frozenset(("type", "data")),
    "image": frozenset(("type", "source", "width", "height")),
    "blob": frozenset(("type", "sha256", "bytes", "media_type")),
}
_USAGE_KEYS = frozenset(usage_to_json(Usage(0, 0, 0, 0)))
_EDIT_KEYS = frozenset(Edit.__slots__)


def _unknown(kind: str, payload: Mapping[str, Json]) -> dict[str, Json] | None:
    """What a payload holds that its event can't: unknown keys, and keys with something unknown inside."""
    known = _KEYS[kind]
    found = {} if payload.keys() <= known else {key: payload[key] for key in payload.keys() - known}
    for key, of_parts in (("usage", _USAGE_KEYS), ("edits", _EDIT_KEYS), ("content", None)):
        value = payload.get(key)
        parts = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
        for part in parts:
            kept = of_parts or _BLOCK_KEYS.get(part.get("type"))
            if kept and not part.keys() <= kept:
                found[key] = value
    return found or None


def event_type(event: Event) -> str:
    """The event's name in the log."""
    return event.type if isinstance(event, Unknown) else type(event).__name__


# Records and lines -------------------------------------------------------------------------------------------


def record_to_json(record: Record) -> dict[str, Json]:
    """The record as one JSON object, without its crc."""
    event = record.event
    head = {"seq": record.seq, "timestamp": record.timestamp, "type": event_type(event)}
    return {**head, **_payload(event), **(record.extra or {})}


def encode_record(record: Record) -> bytes:
    """The record's line in the log: ASCII JSON, the crc of the bytes before it as last key, one newline.

    Raises ValueError for a value that JSON has no form for.
    """
    body = _ASCII.encode(record_to_json(record))[:-1].encode("ascii")
    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


_LEVELS = 2 * MAX_DEPTH
"""A record nests what it holds a few levels deeper than that came."""
_CRC_KEY = b',"crc":"'
_CRC_END = len(_CRC_KEY) + 10


def decode_record(line: bytes) -> Record:
    """The record of one line, with or without its newline. Raises ValueError with the reason for a damaged one."""
    end = len(line) - line.endswith(b"\n")
    if line[end - _CRC_END : end - 10] != _CRC_KEY or line[end - 2 : end] != b'"}':
        raise ValueError("no checksum at the end")
    whole = memoryview(line)  # a line may be huge: nothing of it is copied before it is text
    if line[end - 10 : end - 2] != b"%08x" % crc32(whole[: end - _CRC_END]):
        raise ValueError("the checksum does not match")
    return record_from_json(strict_loads(str(whole[:end], "utf-8"), _LEVELS))


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
        return Record(seq, timestamp, read(value), _unknown(kind, value))
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"malformed {kind}: {error}") from error
