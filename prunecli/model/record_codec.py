"""Records as lines of the log: ASCII JSON with the crc of the preceding bytes as last key.

ASCII ensures that no byte of text can be mistaken for a line end.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast, get_args
from zlib import crc32

from prunecli.model import fields
from prunecli.model.codec import (
    MAX_DEPTH,
    cached_1h_of,
    content_to_json,
    nested_counts,
    searches_of,
    strict_loads,
    usage_to_json,
)
from prunecli.model.edits import Edit, EditKind
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    AttemptBilled,
    BilledReason,
    CompactionApplied,
    EndReason,
    Event,
    FilesSaved,
    Origin,
    Pinned,
    PrunApplied,
    PruneSource,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
    RunEnded,
    SavedMoment,
    SavedReason,
    SessionStarted,
    SettingChanged,
    Spilled,
    ToolResult,
    ToolStarted,
    Unknown,
    UserMessage,
)
from prunecli.model.messages import Json
from prunecli.model.touches import Touches

_ASCII = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def edit_to_json(edit: Edit) -> dict[str, Json]:
    """Return the edit in the keys of `prunecli context --json`."""
    return {
        "kind": edit.kind,
        "seq": edit.seq,
        "tool_use_id": edit.tool_use_id,
        "text": edit.text,
        "tokens_before": edit.tokens_before,
        "tokens_after": edit.tokens_after,
    }


def edit_from_json(value: Mapping[str, Json]) -> Edit:
    """Return a recorded edit. Raises ValueError if it is malformed."""
    kind = fields.text(value, "kind")
    if kind not in _EDIT_KINDS:
        raise ValueError(f"kind: unknown edit {kind[:40]!r}")
    return Edit(
        cast("EditKind", kind),
        fields.whole(value, "seq"),
        fields.optional_text(value, "tool_use_id"),
        fields.optional_text(value, "text"),
        fields.whole(value, "tokens_before", 0),
        fields.whole(value, "tokens_after", 0),
    )


# Events ------------------------------------------------------------------------------------------------------


def _prune(event: PrunApplied) -> dict[str, Json]:
    return {
        "source": event.source,
        "strategy": event.strategy,
        "edits": [edit_to_json(edit) for edit in event.edits],
        "pruned_timestamps": event.pruned_timestamps,
        "tokens_removed": event.tokens_removed,
        "messages_removed": event.messages_removed,
        "memo": event.memo,
        "reason": event.reason,
        **({"thinking_blocks": event.thinking_blocks} if event.thinking_blocks else {}),
        **({} if event.shown_tokens is None else {"shown_tokens": event.shown_tokens}),
    }


def _payload(event: Event) -> dict[str, Json]:
    match event:
        case UserMessage(content, origin, restores, attached, fixed):
            more = {"restores": restores} if restores else {}
            read = {} if attached is None else {"attached": _attached(attached)}
            ours = {"fixed": fixed} if fixed else {}
            return {"content": content_to_json(content), "origin": origin, **more, **read, **ours}
        case AssistantMessage():
            return {
                "content": content_to_json(event.content),
                "model": event.model,
                "stop_reason": event.stop_reason,
                "usage": usage_to_json(event.usage),
                "request_id": event.request_id,
                "duration_ms": event.duration_ms,
                **_reported(event),
            }
        case ToolStarted():
            return {
                "tool_use_id": event.tool_use_id,
                "tool_name": event.tool_name,
                "input": event.input,
                **({} if event.touches is None else {"touches": event.touches.to_json()}),
            }
        case ToolResult():
            return {
                "tool_use_id": event.tool_use_id,
                "tool_name": event.tool_name,
                "is_error": event.is_error,
                "content": content_to_json(event.content),
                "details": event.details,
                "duration_ms": event.duration_ms,
                **({} if event.tokens is None else {"tokens": event.tokens}),
                **({} if event.spilled is None else {"spilled": _spilled(event.spilled)}),
            }
        case PrunApplied():
            return _prune(event)
        case CompactionApplied():
            fields: dict[str, Json] = {name: getattr(event, name) for name in event.__match_args__}
            made = {name: fields.pop(name) for name in ("block", "words")}
            made = {name: value for name, value in made.items() if value}
            return {**fields, "usage": usage_to_json(event.usage), **made}
        case PrunReverted(seqs, requires):
            return {"seqs": seqs, **({"requires": requires} if requires else {})}
        case AttemptBilled(model, usage, reason, child, prepared, sha256):
            of_task = {} if child is None else {"child": child}
            ahead = {"prepared": _payload(prepared), "sha256": sha256} if prepared else {}
            return {"model": model, "usage": usage_to_json(usage), "reason": reason, **of_task, **ahead}
        case Unknown(_, payload):
            return dict(payload)
        case RunEnded(reason, error):
            return {"reason": reason, **({"error": error} if error else {})}
        case _:
            return {name: getattr(event, name) for name in event.__match_args__}


def _spilled(spilled: Spilled) -> dict[str, Json]:
    return {"tokens": spilled.tokens, "shown": spilled.shown}


def _attached(attached: Attached) -> dict[str, Json]:
    return {
        "tool_name": attached.tool_name,
        "input": attached.input,
        **({"details": attached.details} if attached.details else {}),
        **({} if attached.spilled is None else {"spilled": _spilled(attached.spilled)}),
    }


def _attached_of(payload: Mapping[str, Json]) -> Attached | None:
    given = fields.optional_part(payload, "attached")
    if given is None:
        return None
    name, details = fields.text(given, "tool_name"), fields.part(given, "details")
    return Attached(name, fields.arguments(given), details, _spilled_of(given))


def _spilled_of(payload: Mapping[str, Json]) -> Spilled | None:
    given = fields.part(payload, "spilled")
    return Spilled(fields.whole(given, "tokens"), fields.text(given, "shown")) if given else None


def _prepared_of(payload: Mapping[str, Json]) -> CompactionApplied | None:
    given = fields.optional_part(payload, "prepared")
    return None if given is None else cast("CompactionApplied", _READERS["CompactionApplied"](given))


def _reported(event: AssistantMessage) -> dict[str, Json]:
    """Return the optional fields the endpoint reported; unreported ones are omitted."""
    optional = {
        "input_transformations": event.input_transformations,
        "thinking_tokens": event.thinking_tokens,
        "applied_edits": event.applied_edits,
        "message_id": event.message_id or None,
        "cache_miss": event.cache_miss,
    }
    return {key: value for key, value in optional.items() if value is not None}


_Read = Callable[[Mapping[str, Any]], Event]
_READERS: dict[str, _Read] = {
    "SessionStarted": lambda p: SessionStarted(
        id=fields.text(p, "id"),
        cwd=fields.text(p, "cwd"),
        model=fields.text(p, "model"),
        version=fields.whole(p, "version"),
        parent=fields.part(p, "parent") or None,
        requires=fields.requirements(p),
    ),
    "UserMessage": lambda p: UserMessage(
        fields.content(p),
        cast("Origin", fields.text(p, "origin", "prompt")),
        fields.wholes(p, "restores"),
        _attached_of(p),
        fields.wholes(p, "fixed"),
    ),
    "AssistantMessage": lambda p: AssistantMessage(
        fields.content(p),
        fields.text(p, "model", ""),
        fields.text(p, "stop_reason", ""),
        fields.usage(p),
        fields.text(p, "request_id", ""),
        fields.whole(p, "duration_ms", 0),
        fields.objects(p, "input_transformations"),
        fields.optional_whole(p, "thinking_tokens"),
        fields.objects(p, "applied_edits"),
        fields.text(p, "message_id", ""),
        fields.part(p, "cache_miss") or None,
    ),
    "ToolStarted": lambda p: ToolStarted(
        fields.text(p, "tool_use_id"), fields.text(p, "tool_name"), fields.arguments(p), fields.touches(p)
    ),
    "ToolResult": lambda p: ToolResult(
        fields.text(p, "tool_use_id"),
        fields.text(p, "tool_name", ""),
        fields.content(p),
        fields.flag(p, "is_error", False),
        fields.part(p, "details"),
        fields.whole(p, "duration_ms", 0),
        fields.optional_whole(p, "tokens"),
        _spilled_of(p),
    ),
    "PrunApplied": lambda p: PrunApplied(
        cast("PruneSource", fields.text(p, "source")),
        tuple(map(edit_from_json, fields.parts(p, "edits"))),
        fields.optional_text(p, "strategy"),
        fields.wholes(p, "pruned_timestamps"),
        fields.whole(p, "tokens_removed", 0),
        fields.whole(p, "messages_removed", 0),
        fields.optional_text(p, "memo"),
        fields.text(p, "reason", ""),
        fields.whole(p, "thinking_blocks", 0),
        fields.optional_whole(p, "shown_tokens"),
    ),
    "PrunReverted": lambda p: PrunReverted(fields.wholes(p, "seqs"), fields.requirements(p)),
    "Pinned": lambda p: Pinned(fields.wholes(p, "seqs"), fields.flag(p, "pinned", True)),
    "Rewound": lambda p: Rewound(fields.whole(p, "to_seq")),
    "CompactionApplied": lambda p: CompactionApplied(
        fields.text(p, "summary"),
        fields.whole(p, "head_end"),
        fields.whole(p, "tail_start"),
        fields.whole(p, "tokens_before", 0),
        fields.whole(p, "tokens_after", 0),
        fields.text(p, "focus", ""),
        fields.text(p, "model", ""),
        fields.usage(p),
        fields.optional_part(p, "block"),
        fields.text(p, "words", ""),
    ),
    "RequestSent": lambda p: RequestSent(
        fields.text(p, "model"),
        fields.whole(p, "tokens"),
        fields.text(p, "sha256"),
        fields.wholes(p, "cache_marks"),
    ),
    "AttemptBilled": lambda p: AttemptBilled(
        fields.text(p, "model"),
        fields.usage(p),
        cast("BilledReason", fields.text(p, "reason", "cut")),
        fields.optional_part(p, "child"),
        _prepared_of(p),
        fields.text(p, "sha256", ""),
    ),
    "FilesSaved": lambda p: FilesSaved(
        fields.tree(p, "tree"),
        fields.text(p, "root"),
        cast("SavedMoment", fields.text(p, "moment")),
        cast("SavedReason", fields.text(p, "reason", "tools")),
        fields.texts(p, "skipped"),
        fields.whole(p, "duration_ms", 0),
    ),
    "SettingChanged": lambda p: SettingChanged(
        fields.text(p, "key"), fields.setting(p, fields.text(p, "key"))
    ),
    "RunEnded": lambda p: RunEnded(cast("EndReason", fields.text(p, "reason")), fields.text(p, "error", "")),
}

EVENT_TYPES = frozenset(_READERS)
"""The names of the events that this version knows."""


_KEYS: dict[str, frozenset[str]] = {
    kind.__name__: frozenset(kind.__match_args__) for kind in get_args(Event) if kind is not Unknown
}
_BLOCK_KEYS: dict[Json, frozenset[str]] = {
    "text": frozenset(("type", "text", "citations")),
    "tool_use": frozenset(("type", "id", "name", "input")),
    "thinking": frozenset(("type", "thinking", "signature")),
    "redacted_thinking": frozenset(("type", "data")),
    "image": frozenset(("type", "source", "width", "height")),
    "blob": frozenset(("type", "sha256", "bytes", "media_type")),
}
_EDIT_KINDS = frozenset(get_args(EditKind))
_PART_KEYS: dict[str, frozenset[str] | None] = {
    "usage": frozenset((*fields.USAGE_TOKENS, "server_tool_use", "cache_creation")),
    "edits": frozenset(Edit.__match_args__),
    "touches": frozenset(Touches.__match_args__),
    "spilled": frozenset(Spilled.__match_args__),
    "attached": frozenset(Attached.__match_args__),
    "prepared": frozenset(CompactionApplied.__match_args__),
    "content": None,
}
_PARTS = {
    kind: [(key, of_parts) for key, of_parts in _PART_KEYS.items() if key in keys]
    for kind, keys in _KEYS.items()
}
_COUNTS = "server_tool_use", "cache_creation"
_NESTED = frozenset(("citations", *_COUNTS))
"""The keys of parts whose values `_fits` checks."""


def _unknown(kind: str, payload: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return the parts of a payload that its event can't hold: unknown keys, and keys with unknown content."""
    known = _KEYS[kind]
    found = {} if payload.keys() <= known else {key: payload[key] for key in payload.keys() - known}
    for key, of_parts in _PARTS[kind]:
        value = payload.get(key)
        parts = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
        for part in parts:
            kept = of_parts or _BLOCK_KEYS.get(part.get("type"))
            if kept and not (part.keys() <= kept and (_NESTED.isdisjoint(part) or _fits(part))):
                found[key] = value
    return found or None


def _fits(part: Mapping[str, Json]) -> bool:
    """Return whether `Text` and `Usage` can hold the citations of a text, and the nested counts of a usage."""
    cited = part.get("citations", [{}])
    citations = isinstance(cited, list) and bool(cited) and all(isinstance(one, dict) for one in cited)
    held = nested_counts(searches_of(part), cached_1h_of(part), part.get("cache_creation_input_tokens"))
    return citations and all(part[key] == held.get(key, part) for key in _COUNTS if key in part)


def event_type(event: Event) -> str:
    """Return the event's name in the log."""
    return event.type if isinstance(event, Unknown) else type(event).__name__


# Records and lines -------------------------------------------------------------------------------------------


def record_to_json(record: Record) -> dict[str, Json]:
    """Return the record as one JSON object, without its crc."""
    event = record.event
    head = {"seq": record.seq, "timestamp": record.timestamp, "type": event_type(event)}
    return {**head, **_payload(event), **(record.extra or {})}


def encode_record(record: Record) -> bytes:
    """Return the record's line in the log: ASCII JSON, the crc of the preceding bytes as last key, a newline.

    Raises ValueError for a value that JSON can't represent.
    """
    body = _ASCII.encode(record_to_json(record))[:-1].encode("ascii")
    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


_LEVELS = 2 * MAX_DEPTH  # a record nests its content a few levels deeper than the content itself
_CRC_KEY = b',"crc":"'
_CRC_END = len(_CRC_KEY) + 10


def decode_record(line: bytes) -> Record:
    """Return the record of one line, with or without its newline.

    Raises ValueError with the reason if the line is damaged.
    """
    end = len(line) - line.endswith(b"\n")
    if line[end - _CRC_END : end - 10] != _CRC_KEY or line[end - 2 : end] != b'"}':
        raise ValueError("no checksum at the end")
    whole = memoryview(line)  # a line may be huge, so it is copied only once, when decoded
    if line[end - 10 : end - 2] != b"%08x" % crc32(whole[: end - _CRC_END]):
        raise ValueError("the checksum does not match")
    return record_from_json(strict_loads(str(whole[:end], "utf-8"), _LEVELS))


_LATEST = 253_402_214_400_000
"""A day before the end of the year 9999: later moments have no date in some time zone."""


def record_from_json(value: Json) -> Record:
    """Return the record of a JSON object.

    Raises ValueError if number, time or type is missing. A known kind with malformed fields becomes an `Unknown` with
    the reason. It has no effect, and the records around it are used.
    """
    if not isinstance(value, dict):
        raise ValueError("not an object")
    seq, timestamp, kind = value.pop("seq", None), value.pop("timestamp", None), value.pop("type", None)
    if type(seq) is not int or not 0 <= seq <= fields.MOST:
        raise ValueError("seq must be an integer, 0 or more")
    if type(timestamp) is not int or not 0 <= timestamp <= _LATEST:
        raise ValueError("timestamp must be an integer from 0 to the year 9999")
    if not isinstance(kind, str):
        raise ValueError("no type")
    value.pop("crc", None)
    read = _READERS.get(kind)
    if read is None:
        return Record(seq, timestamp, Unknown(kind, value))
    try:
        return Record(seq, timestamp, read(value), _unknown(kind, value))
    except (ValueError, TypeError, AttributeError) as error:
        return Record(seq, timestamp, Unknown(kind, value, f"malformed {kind}: {error}"))
