"""Assembles one response from the endpoint's events: a pure state machine.

`Assembly.feed` takes decoded events in order and returns deltas for the screen; `response` is for the log. Only
finished blocks are used: an incomplete tool input never becomes a call, and an incomplete signature is never sent
back.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from prunecli.model.codec import (
    CACHED_1H,
    MAX_DEPTH,
    counts_of,
    is_count,
    nests_deeper,
    searches_of,
    strict_loads,
    usage_from_json,
    well_formed,
    well_formed_json,
)
from prunecli.model.messages import (
    INVALID_INPUT,
    Block,
    Json,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from prunecli.model.requests import COMPACTION, DIAGNOSTICS
from prunecli.model.searches import USE
from prunecli.providers.provider import Begun, Response, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta

MAX_RESPONSE_CHARS = 32_000_000
"""A longer response is an error. No model writes that much: 128,000 tokens are about 0.5 MB."""

TRUNCATING = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
"""Stop reasons after which the last block may be incomplete, even if the endpoint closed it."""

_THINKING = frozenset({"thinking", "redacted_thinking"})
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 128
_DELTA_FIELDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


class _OpenBlock:
    """A block as it arrives. `head` is the object of its start event; the lists hold the pieces of its deltas."""

    def __init__(self, head: Mapping[str, Json], tool_id: str, tool_name: str) -> None:
        self.head = head
        self.kind: str = head["type"]
        self.tool_id = tool_id
        self.tool_name = tool_name
        self.pieces: list[str] = []
        self.signature: list[str] = []
        self.citations: list[Mapping[str, Json]] = []
        self.half = ""
        self.closed = False

    def whole(self, piece: str) -> str:
        """Return the piece with the half surrogate pair held back before it, and hold back a half at its end."""
        if piece.isascii() and not self.half:
            return piece
        piece = self.half + piece
        self.half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return well_formed(piece[:-1] if self.half else piece)

    def rest(self) -> str:
        """Return the half of a surrogate pair whose second half never came."""
        half, self.half = self.half, ""
        return well_formed(half)

    def add(self, piece: str) -> list[StreamEvent]:
        if not piece:
            return []
        self.pieces.append(piece)
        match self.kind:
            case "text":
                return [TextDelta(piece)]
            case "thinking":
                return [ThinkingDelta(piece)]
            case "tool_use" | "server_tool_use":
                return [ToolCallDelta(self.tool_id, self.tool_name, piece)]
            case _:
                return []

    def whole_text(self) -> str:
        return "".join(self.pieces) + well_formed(self.half)


class Assembly:
    """A response being assembled.

    `new_id` makes an id for a tool call without one. `error` events must not be fed: failures.py translates them.
    """

    def __init__(self, new_id: Callable[[], str], request_id: str = "") -> None:
        self._new_id = new_id
        self._request_id = request_id
        self._model = ""
        self._stop_reason = ""
        self._usage: dict[str, int] = {}
        self._summarizing: dict[str, int] = {}
        self._searched: int | None = None
        self._transformations: tuple[Mapping[str, Json], ...] | None = None
        self._thinking_tokens: int | None = None
        self._applied_edits: tuple[Mapping[str, Json], ...] | None = None
        self._message_id = ""
        self._cache_miss: Mapping[str, Json] | None = None
        self._blocks: list[_OpenBlock] = []
        self._by_index: dict[int | None, _OpenBlock] = {}
        self._tool_ids: set[str] = set()
        self._chars = 0
        self.started = False
        self.complete = False

    def feed(self, event: Json) -> list[StreamEvent]:
        """Process an event and return its deltas; none for unknown kinds.

        Raises ValueError for an event that breaks the protocol, or a response over the limit.
        """
        if not isinstance(event, Mapping):
            raise ValueError("an event that is not an object")
        match event.get("type"):
            case "content_block_delta":
                return self._delta(event.get("index"), _object(event.get("delta")))
            case "content_block_start":
                return self._start(event.get("index"), _object(event.get("content_block")))
            case "content_block_stop":
                return self._close(event.get("index"))
            case "message_start":
                message = _object(event.get("message"))
                self.started = True
                self._model = _string(message.get("model"))
                self._message_id = _string(message.get("id"))
                self._diagnosed(message.get(DIAGNOSTICS))
                self._merge_usage(message.get("usage"))
                self._transformed(message.get("input_transformations"))
                return [self._begun()] if self._usage else []
            case "message_delta":
                reason = _object(event.get("delta")).get("stop_reason")
                self._stop_reason = _string(reason) or self._stop_reason
                self._merge_usage(event.get("usage"))
                self._transformed(event.get("input_transformations"))
                self._edited(event.get("context_management"))
                self._diagnosed(event.get(DIAGNOSTICS))
                return [self._begun()] if event.get("usage") else []
            case "message_stop":
                self.complete = True
        return []

    def _begun(self) -> Begun:
        leading = takewhile(lambda made: made.closed and made.kind in _THINKING, self._blocks)
        thinking = [self._finished(position, made) for position, made in enumerate(leading)]
        return Begun(self._usage_of(self._usage), tuple(filter(None, thinking)))

    def _usage_of(self, counts: Mapping[str, int]) -> Usage:
        hour = counts.get(CACHED_1H)
        return replace(
            usage_from_json(counts), web_search_requests=self._searched, cache_1h_input_tokens=hour
        )

    def response(self) -> Response:
        """Return the whole response. Raises ValueError before `message_stop`."""
        if not self.complete:
            raise ValueError("the stream ended before message_stop")
        content = tuple(
            block for position, made in enumerate(self._blocks) if (block := self._finished(position, made))
        )
        calls = any(isinstance(block, ToolUse) for block in content)
        return Response(
            content,
            self._stop_reason or ("tool_use" if calls else "end_turn"),
            self._usage_of(_sum(self._usage, self._summarizing)),
            self._model,
            self._request_id,
            self._transformations,
            self._thinking_tokens,
            self._applied_edits,
            self._message_id,
            self._cache_miss,
        )

    def _start(self, index: Json, head: Mapping[str, Json]) -> list[StreamEvent]:
        if not isinstance(head.get("type"), str):
            raise ValueError("a content block without a type")
        is_call = head["type"] == "tool_use"
        is_servers = head["type"] == USE and bool(head.get("id"))
        tool_id = self._free_id(_string(head.get("id"))) if is_call else _string(head.get("id"))
        tool_name = _NOT_IN_A_NAME.sub("_", _string(head.get("name")))[:_MAX_NAME] or "unnamed"
        made = _OpenBlock(head, tool_id, tool_name)
        self._blocks.append(made)
        self._by_index[_index(index)] = made
        if is_call or is_servers:
            return [ToolCallDelta(tool_id, tool_name)]
        made.signature.append(_string(head.get("signature")))
        first = head.get(made.kind) if made.kind in ("text", "thinking") else None
        return self._append(made, f"{made.kind}_delta", first) if isinstance(first, str) else []

    def _free_id(self, wanted: str) -> str:
        """Return the id in characters that the endpoint accepts, unique within this response."""
        wanted = found = _NOT_IN_A_NAME.sub("_", wanted) or self._new_id()
        number = 2
        while found in self._tool_ids:
            found, number = f"{wanted}_{number}", number + 1
        self._tool_ids.add(found)
        return found

    def _delta(self, index: Json, delta: Mapping[str, Json]) -> list[StreamEvent]:
        kind = delta.get("type")
        if kind == "citations_delta" and (cited := self._by_index.get(_index(index))):
            cited.citations += filter(None, [_clean(delta.get("citation"))])
            return []
        if not isinstance(kind, str) or kind not in _DELTA_FIELDS:
            return []
        field = _DELTA_FIELDS[kind]
        made = self._by_index.get(_index(index))
        if made is None:
            if field not in ("text", "thinking"):
                raise ValueError(f"a {kind} for a block that never began")
            self._start(index, {"type": field})
            made = self._by_index[index]
        piece = delta.get(field)
        return self._append(made, kind, piece) if isinstance(piece, str) else []

    def _append(self, made: _OpenBlock, kind: str, piece: str) -> list[StreamEvent]:
        self._chars += len(piece)
        if self._chars > MAX_RESPONSE_CHARS:
            raise ValueError(f"a response of more than {MAX_RESPONSE_CHARS:,} characters")
        if kind == "signature_delta":
            made.signature.append(well_formed(piece))
            return []
        if (kind == "input_json_delta") != (made.kind not in ("text", "thinking")):
            return []
        return made.add(made.whole(piece))

    def _close(self, index: Json) -> list[StreamEvent]:
        made = self._by_index.get(_index(index))
        if made is None:
            return []
        made.closed = True
        deltas = made.add(made.rest())
        return [*deltas, self._begun()] if made.kind in _THINKING else deltas

    def _merge_usage(self, usage: Json) -> None:
        """Merge cumulative counts. The larger count is the later one, even if an endpoint reports it only once."""
        if not isinstance(usage, Mapping):
            return
        for key, count in counts_of(usage).items():
            self._usage[key] = max(count, self._usage.get(key, 0))
        if (searched := searches_of(usage)) is not None:
            self._searched = max(searched, self._searched or 0)
        if isinstance(passes := usage.get("iterations"), list):
            self._summarizing = _summarizing(passes)
        details = usage.get("output_tokens_details")
        thought = details.get("thinking_tokens") if isinstance(details, Mapping) else None
        if is_count(thought):
            self._thinking_tokens = max(thought, self._thinking_tokens or 0)

    def _transformed(self, reported: Json) -> None:
        """Record the endpoint's changes to the request. The first event reports them. The last event repeats them
        only if another server took over, and then replaces the first report."""
        if isinstance(reported, list):
            self._transformations = _objects(reported)

    def _edited(self, reported: Json) -> None:
        """Record the endpoint's edits of its copy of the request; an empty list counts as no report."""
        edits = reported.get("applied_edits") if isinstance(reported, Mapping) else None
        if isinstance(edits, list):
            self._applied_edits = _objects(edits) or None

    def _diagnosed(self, reported: Json) -> None:
        """Record why the prompt was not read from the cache, as the endpoint tells it."""
        reason = reported.get("cache_miss_reason") if isinstance(reported, Mapping) else None
        self._cache_miss = _clean(reason) or self._cache_miss

    def _finished(self, position: int, made: _OpenBlock) -> Block | None:
        """Return the block for the log; None if it is empty or cannot be sent back."""
        cut = position == len(self._blocks) - 1 and self._stop_reason in TRUNCATING
        match made.kind:
            case "text":
                text = made.whole_text()
                return Text(text, tuple(made.citations)) if text else None
            case "thinking":
                signature = "".join(made.signature)
                thinking = made.whole_text()
                usable = made.closed and bool(signature or (thinking and not cut))
                return Thinking(thinking, signature) if usable else None
            case "redacted_thinking":
                return RedactedThinking(_string(made.head.get("data")))
            case "tool_use":
                return ToolUse(made.tool_id, made.tool_name, _tool_input(made, cut))
            case _:
                return _opaque(made)


def _summarizing(passes: Sequence[Json]) -> dict[str, int]:
    """Return the usage of summaries by the endpoint, which is billed but not part of the other counts."""
    found: dict[str, int] = {}
    for one in passes:
        if isinstance(one, Mapping) and one.get("type") == COMPACTION:
            found = _sum(found, counts_of(one))
    return found


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in (*one, *other)}


def _tool_input(made: _OpenBlock, cut: bool) -> dict[str, Json]:
    """Return the input, or its raw text under INVALID_INPUT if it is not a complete JSON object."""
    raw = made.whole_text()
    if made.closed and not raw.strip():
        given = _clean(made.head.get("input") or {})
        if given or (given is not None and not cut):
            return given
    found = _parsed(raw) if made.closed else None
    return {INVALID_INPUT: raw} if found is None else found


def _opaque(made: _OpenBlock) -> Opaque | None:
    """Return a block of an unknown kind as received, with the input from its deltas; None if it is incomplete."""
    value, raw = _clean(made.head), made.whole_text()
    if not made.closed or value is None:
        return None
    if raw:
        value["input"] = _parsed(raw)
    return None if raw and value["input"] is None else Opaque(value)


def _parsed(raw: str) -> dict[str, Json] | None:
    try:
        return _clean(strict_loads(raw))
    except ValueError:
        return None


def _clean(value: Json) -> dict[str, Json] | None:
    """Return a JSON object without lone surrogates; None for any other value or too deep nesting."""
    if not isinstance(value, dict) or nests_deeper(value, MAX_DEPTH):
        return None
    clean: dict[str, Json] = well_formed_json(value)
    return clean


def _objects(values: list[Json]) -> tuple[Mapping[str, Json], ...]:
    found = map(_clean, values)
    return tuple(item for item in found if item is not None)


def _object(value: Json) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("an event without an object")
    return value


def _string(value: Json) -> str:
    return well_formed(value) if isinstance(value, str) else ""


def _index(value: Json) -> int | None:
    if value is not None and type(value) is not int:
        raise ValueError("a block index that is not a number")
    return value
