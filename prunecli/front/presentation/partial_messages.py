"""Converts the stream of a session to the events of the Messages API, which stream-json prints with partial messages.

The session reports text, thinking and calls as they arrive; this module adds the events that begin and end messages
and blocks. A message that fails and is retried begins again, without an end event for the first attempt. Summaries
are left out.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prunecli.model.codec import usage_to_json
from prunecli.model.events import AssistantMessage, Record
from prunecli.model.signals import (
    SessionEvent,
    StreamDiscarded,
    SummaryEnded,
    SummaryStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)

_UNKNOWN = {"input_tokens": 0, "output_tokens": 0}
"""The usage at the start of a message; `message_delta` has the real one."""


class PartialMessages:
    """A converter from the events of one session to those of the API. The ids of messages begin with `prefix`;
    `model` is the answering model. `complete` is the id of the message that the last record completed, or ""."""

    def __init__(self, prefix: str, model: Callable[[], str]) -> None:
        self.complete = ""
        self._prefix = prefix
        self._model = model
        self._number = 0
        self._begun = False
        self._summary = False
        self._index = -1
        self._open = ""

    def read(self, event: SessionEvent) -> Iterator[Mapping[str, Any]]:
        """Yield the API's events for one event of the session."""
        self.complete = ""
        match event:
            case SummaryStarted() | SummaryEnded():
                self._summary = isinstance(event, SummaryStarted)
                self._forget()
            case StreamDiscarded():
                self._forget()
            case TextDelta() | ThinkingDelta() | ToolCallDelta() if not self._summary:
                if not self._begun:
                    yield self._message()
                yield from self._delta(event)
            case Record(_, _, AssistantMessage() as message) if self._begun:
                yield from self._ended(message)
            case _:
                pass

    def _forget(self) -> None:
        self._begun, self._index, self._open = False, -1, ""

    @property
    def _id(self) -> str:
        return f"{self._prefix}_{self._number}"

    def _message(self) -> Mapping[str, Any]:
        self._begun = True
        self._number += 1
        message: dict[str, Any] = {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model(),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _UNKNOWN,
        }
        return {"type": "message_start", "message": message}

    def _delta(self, event: TextDelta | ThinkingDelta | ToolCallDelta) -> Iterator[Mapping[str, Any]]:
        match event:
            case TextDelta(text):
                yield from self._opened("text", {"type": "text", "text": ""})
                delta = {"type": "text_delta", "text": text}
            case ThinkingDelta(text):
                yield from self._opened("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                delta = {"type": "thinking_delta", "thinking": text}
            case ToolCallDelta(id_, name, piece):
                block = {"type": "tool_use", "id": id_, "name": name, "input": {}}
                yield from self._opened(f"call {id_}", block)
                delta = {"type": "input_json_delta", "partial_json": piece}
                if not piece:
                    return
        yield {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _opened(self, key: str, block: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the events that open a block, after closing the previous one; none if the block is already open."""
        if key != self._open:
            yield from self._closed()
            self._index, self._open = self._index + 1, key
            yield {"type": "content_block_start", "index": self._index, "content_block": block}

    def _closed(self) -> Iterator[Mapping[str, Any]]:
        if self._open:
            yield {"type": "content_block_stop", "index": self._index}

    def _ended(self, message: AssistantMessage) -> Iterator[Mapping[str, Any]]:
        yield from self._closed()
        delta = {"stop_reason": message.stop_reason, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": usage_to_json(message.usage)}
        yield {"type": "message_stop"}
        self.complete = self._id
        self._forget()
