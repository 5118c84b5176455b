"""Replaces secrets of known shapes before a session is exported.

Shapes are the prefixes, lengths and alphabets that issuers document. A secret without a known shape is found only by
its name in an environment file or a header.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import assert_never

from prunecli.features.export.exporters.secret_shapes import SHAPES, VALUE_HINTS, VALUES
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    AttemptBilled,
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
from prunecli.model.messages import (
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
)
from prunecli.model.touches import Touches


@cache  # compiled on first use, since this would delay startup
def _patterns() -> tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...]:
    return tuple((name, re.compile(shape), hints) for name, shape, hints in SHAPES)


@cache
def _value_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern)) for name, pattern in VALUES)


def without_secrets(text: str) -> tuple[str, int]:
    """Replace each secret with `[redacted: NAME]`; return the text and the number of secrets."""
    found = 0
    for name, pattern, hints in _patterns():
        if any(hint in text for hint in hints):
            text, count = pattern.subn(f"[redacted: {name}]", text)
            found += count
    if VALUE_HINTS.search(text):
        for name, pattern in _value_patterns():
            text, count = pattern.subn(rf"\g<kept>[redacted: {name}]", text)
            found += count
    return text, found


class _Redactor:
    def __init__(self) -> None:
        self.found = 0

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        clean, count = without_secrets(text)
        self.found += count
        return clean

    def json(self, value: Json) -> Json:
        """Return a JSON value without secrets; keys stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.json(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(item) for item in value]
        return value

    def block(self, block: Block) -> Block:
        """Return a block without secrets. Changed thinking loses its signature, which no longer matches."""
        match block:
            case Text(text, citations):
                return Text(self.text(text), tuple(self.json(dict(citation)) for citation in citations))
            case Thinking(thinking, signature):
                clean = self.text(thinking)
                return Thinking(clean, signature if clean == thinking else "")
            case ToolUse(id_, name, given):
                return ToolUse(id_, name, self.json(dict(given)))
            case Opaque(unknown):
                return Opaque(self.json(dict(unknown)))
            case RedactedThinking() | Image() | Document() | Blob():
                return block
            case _:
                assert_never(block)

    def event(self, event: Event) -> Event:
        """Return an event without secrets."""
        match event:
            case UserMessage(attached=Attached() as attached):
                spilled = attached.spilled
                clean = replace(
                    attached,
                    input=self.json(dict(attached.input)),
                    details=self.json(dict(attached.details)),
                    spilled=spilled and replace(spilled, shown=self.text(spilled.shown)),
                )
                return replace(event, content=tuple(map(self.block, event.content)), attached=clean)
            case UserMessage() | AssistantMessage():
                return replace(event, content=tuple(map(self.block, event.content)))
            case ToolResult():
                return replace(
                    event,
                    content=tuple(map(self.block, event.content)),
                    details=self.json(dict(event.details)),
                    spilled=event.spilled and replace(event.spilled, shown=self.text(event.spilled.shown)),
                )
            case ToolStarted():
                return replace(
                    event,
                    input=self.json(dict(event.input)),
                    touches=event.touches and self.touches(event.touches),
                )
            case CompactionApplied():
                return self.summary(event)
            case AttemptBilled(prepared=prepared):
                return replace(event, prepared=None if prepared is None else self.summary(prepared))
            case PrunApplied():
                edits = tuple(self.edit(edit) for edit in event.edits)
                memo = None if event.memo is None else self.text(event.memo)
                return replace(event, edits=edits, memo=memo, reason=self.text(event.reason))
            case RunEnded():
                return replace(event, error=self.text(event.error))
            case SettingChanged():
                return replace(event, value=self.json(event.value))
            case Unknown():
                return replace(event, payload=self.json(dict(event.payload)))
            case SessionStarted() | PrunReverted() | Pinned() | Rewound() | RequestSent() | FilesSaved():
                return event
            case _:
                assert_never(event)

    def touches(self, touches: Touches) -> Touches:
        """Return paths and commands without secrets."""
        return Touches(**{key: tuple(self.json(value)) for key, value in touches.to_json().items()})

    def summary(self, event: CompactionApplied) -> CompactionApplied:
        """Return a summary without secrets."""
        signed = event.block if event.block == self.json(dict(event.block or {})) else None
        return replace(
            event,
            summary=self.text(event.summary),
            focus=self.text(event.focus),
            words=self.text(event.words),
            block=signed,  # the endpoint would reject a changed block, so the summary is sent as text
        )

    def edit(self, edit: Edit) -> Edit:
        """Return an edit without secrets."""
        return edit if edit.text is None else replace(edit, text=self.text(edit.text))


def redacted(records: Sequence[Record]) -> tuple[list[Record], int]:
    """Return the records without secrets of known shapes, and the number of secrets replaced."""
    redactor = _Redactor()
    clean = [Record(record.seq, record.timestamp, redactor.event(record.event)) for record in records]
    return clean, redactor.found
