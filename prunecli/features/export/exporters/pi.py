"""Exports a session as pi's JSONL, version 3, as one line of entries.

A summary becomes pi's compaction, a prune its context_edit. Data that only prunecli uses (requests, settings,
durations, screen details) is left out.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.features.export.exporters.report import placeholder
from prunecli.model.events import AssistantMessage, CompactionApplied, Record, ToolResult, UserMessage
from prunecli.model.messages import (
    Block,
    Document,
    Image,
    Json,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    Usage,
    plain_text,
)

_WRITER = "prunecli"
"""Marks compactions whose summary the model saw in exactly this form."""
_STOPS = {"max_tokens": "length", "tool_use": "toolUse", "interrupted": "aborted"}


def write(records: Sequence[Record]) -> str:
    return "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in _lines(records))


def _lines(records: Sequence[Record]) -> Iterator[dict[str, Json]]:
    context = Context(Chars4())
    for record in records:
        context.apply(record)
    started = context.started
    yield {
        "type": "session",
        "version": 3,
        "id": started.id if started else "export",
        "timestamp": _iso(records[0].timestamp if records else 0),
        "cwd": started.cwd if started else "",
    }
    parent: str | None = None
    last = records[-1].timestamp if records else 0
    for kind, own_id, when, fields in (
        *_conversation(context),
        *_edits(context, last),
        *_name(context, last),
    ):
        yield {"type": kind, "id": own_id, "parentId": parent, "timestamp": _iso(when), **fields}
        parent = own_id


_Line = tuple[str, str, int, dict[str, Json]]
"""An entry's type, id, time in unix ms and other fields."""


def _conversation(context: Context) -> Iterator[_Line]:
    for _, entry in sorted(context.entries.items()):
        if isinstance(entry.event, CompactionApplied):
            yield "compaction", _id(entry.seq), entry.timestamp, _compaction(context, entry.seq, entry.event)
        elif entry.kind == "command" and not "".join(entry.typed).startswith("!"):
            yield "custom_message", _id(entry.seq), entry.timestamp, _notice(entry)
        elif entry.kind != "result":
            for one in entry.exchange.entries if entry.exchange else [entry]:
                yield "message", _id(one.seq), one.timestamp, {"message": _message(one)}


def _notice(entry: Entry) -> dict[str, Json]:
    """Return a notice: generated text for the model, under its title."""
    event = entry.event
    content = event.content[1:] if isinstance(event, UserMessage) else ()
    return {"customType": "\n".join(entry.typed), "content": _blocks(content), "display": True}


def _message(entry: Entry) -> dict[str, Json]:
    when = entry.timestamp
    match entry.event:
        case UserMessage() if entry.kind == "command":
            command = "\n".join(entry.typed).removeprefix("!")
            shell = {"output": entry.text, "exitCode": 0, "cancelled": False, "truncated": False}
            return {"role": "bashExecution", "command": command, **shell, "timestamp": when}
        case UserMessage(content):
            return {"role": "user", "content": _blocks(content), "timestamp": when}
        case ToolResult() as result:
            return {
                "role": "toolResult",
                "toolCallId": result.tool_use_id,
                "toolName": result.tool_name,
                "content": _blocks(result.content),
                "isError": result.is_error,
                "timestamp": when,
            }
        case AssistantMessage() as said:
            return {
                "role": "assistant",
                "content": _blocks(said.content),
                "api": "anthropic-messages",
                "provider": "anthropic",
                "model": said.model,
                "usage": _usage(said.usage),
                "stopReason": _STOPS.get(said.stop_reason, "stop"),
                "timestamp": when,
            }
        case CompactionApplied():
            raise ValueError("a summary is not a message")


def _blocks(content: tuple[Block, ...]) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    for block in content:
        match block:
            case Text(text):
                found.append({"type": "text", "text": text})
            case Thinking(thinking, signature):
                signed = {"thinkingSignature": signature} if signature else {}
                found.append({"type": "thinking", "thinking": thinking, **signed})
            case RedactedThinking(data):
                found.append(
                    {"type": "thinking", "thinking": "", "thinkingSignature": data, "redacted": True}
                )
            case ToolUse(id_, name, given):
                found.append({"type": "toolCall", "id": id_, "name": name, "arguments": given})
            case Image(media_type, data):
                found.append({"type": "image", "data": data, "mimeType": media_type})
            case Document():
                found.append({"type": "text", "text": placeholder(block)})
            case _:
                pass
    return found


def _usage(usage: Usage) -> dict[str, Json]:
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    cache = {"cacheRead": read or 0, "cacheWrite": written or 0}
    free = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    total = usage.prompt_tokens + usage.output_tokens
    tokens = {"input": usage.input_tokens, "output": usage.output_tokens}
    return {**tokens, **cache, "totalTokens": total, "cost": free}


def _compaction(context: Context, seq: int, event: CompactionApplied) -> dict[str, Json]:
    """Return a pi compaction. pi keeps nothing before one, so kept user messages go into the summary."""
    kept = [
        "\n".join(entry.typed) or plain_text(entry.event.content)
        for _, entry in sorted(context.entries.items())
        if entry.seq <= event.head_end and isinstance(entry.event, UserMessage)
    ]
    summary = "\n\n".join([*kept, *filter(None, [event.words]), event.summary])
    signed = {"block": event.block, "words": event.words, "own": event.summary} if event.block else {}
    later = [one for one in sorted(context.entries) if event.tail_start <= one < seq]
    first = _id(later[0] if later else seq)
    return {
        "summary": summary,
        "firstKeptEntryId": first,
        "tokensBefore": event.tokens_before,
        "details": {"writtenBy": _WRITER, **signed},
    }


def _edits(context: Context, when: int) -> Iterator[_Line]:
    """Yield the entries that the model no longer sees, or sees replaced."""
    for seq, entry in sorted(context.entries.items()):
        head = entry.exchange.head if entry.exchange else entry
        if not context.is_shown(head.seq):
            continue
        edit = context.text_edit(seq)
        shown: str | None
        if entry.exchange and context.dropped(entry.exchange):
            memos = [memo.text or "" for memo in context.memos_at(entry.exchange)] if entry is head else []
            shown = "\n".join(memos) or None
        elif edit is None:
            continue
        elif edit.kind == "cut":
            continue  # such an edit replaces the text of an answer, and an input is none
        else:
            shown = "\n".join([*entry.typed, edit.text or ""])
        replacement = None if shown is None else {"content": [{"type": "text", "text": shown}]}
        yield "context_edit", f"e{seq:07x}", when, {"targetId": _id(seq), "replacement": replacement}


def _name(context: Context, when: int) -> Iterator[_Line]:
    name = context.settings.get("session.name")
    if isinstance(name, str) and name:
        yield "session_info", "name0000", when, {"name": name}


def _id(seq: int) -> str:
    return f"{seq:08x}"


def _iso(milliseconds: int) -> str:
    when = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"
