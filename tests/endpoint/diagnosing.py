"""Why was the prompt of the message before not read from the cache? By comparing the two requests, as documented:
model, system, tools, then the messages, of which there may be more, but none may be another one.

Only requests with `diagnostics` are kept, by the id of their response.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tests.endpoint.shape import Json, RefusedError, shape

_PARTS = ("model", "system", "tools")


@dataclass(frozen=True, slots=True)
class _Kept:
    parts: tuple[str, ...]
    messages: tuple[str, ...]
    tokens: int


class Diagnosing:
    """The requests that asked for it."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    def diagnose(self, request: Json, message_id: str, tokens: int) -> dict[str, Json] | None:
        """The `diagnostics` of the response; None where there is nothing to tell. Raises RefusedError."""
        if not isinstance(request, Mapping) or (asked := request.get("diagnostics")) is None:
            return None
        shape(asked, "diagnostics", {}, {"previous_message_id": None})
        messages = request["messages"]
        parts = tuple(_plain(request.get(name)) for name in _PARTS)
        now = self._kept[message_id] = _Kept(parts, tuple(map(_plain, messages)), tokens)
        if (named := asked.get("previous_message_id")) is None:
            return None
        if not isinstance(named, str):
            raise RefusedError("diagnostics.previous_message_id", "Input should be a valid string")
        before = self._kept.get(named)
        if before is None:
            return {"cache_miss_reason": {"type": "previous_message_not_found"}}
        changed = (
            f"{name}_changed" for name, a, b in zip(_PARTS, before.parts, now.parts, strict=True) if a != b
        )
        kind = next(changed, "")
        if not kind and now.messages[: len(before.messages)] != before.messages:
            kind = "messages_changed"
        missed = {"type": kind, "cache_missed_input_tokens": before.tokens}
        return {"cache_miss_reason": missed} if kind else None


def _plain(value: Json) -> str:
    """A part of a request without its breakpoints."""
    return json.dumps(_unmarked(value), sort_keys=True)


def _unmarked(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
    return [_unmarked(one) for one in value] if isinstance(value, list) else value
