"""Chat Completions: a request as its body, and its chunks as events of the Messages API.

Both directions are pure. Each message is translated by itself, so that the translations of a long session are kept.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prunecli.features.openai.tables import (
    CHAT,
    EXTRA,
    NEW_LIMIT,
    OLD_LIMIT,
    REASONING_FIELDS,
    SKIPPED_SIGNATURE,
    STOP_REASONS,
    STREAM_USAGE,
    Dialect,
    has_new_limit,
)
from prunecli.features.openai.wording import (
    attachment,
    breakpoint_here,
    cache_fields,
    call_arguments,
    function_tools,
    outputs,
    said,
    short_name,
    system_text,
    usage_counts,
)
from prunecli.model.messages import OTHER_WIRE, Json
from prunecli.model.requests import Request, WireMessage

PATH = "/chat/completions"


def chat_fields(request: Request, dialect: Dialect) -> dict[str, Json]:
    """Return the body of a request, without its messages."""
    limit = NEW_LIMIT if has_new_limit(request.model) else f"{OTHER_WIRE}{dialect.limit}"
    if limit in request.without:
        limit = OLD_LIMIT if limit == NEW_LIMIT else NEW_LIMIT
    fields: dict[str, Json] = {
        "model": request.model,
        "stream": True,
        limit.removeprefix(OTHER_WIRE): request.max_tokens,
    }
    if dialect.stream_usage and STREAM_USAGE not in request.without:
        fields["stream_options"] = {"include_usage": True}
    if request.effort:
        fields["reasoning_effort"] = request.effort
    if tools := function_tools(request):
        fields["tools"] = [{"type": "function", "function": tool} for tool in tools]
    return {**fields, **cache_fields(request, dialect)}


def system_messages(request: Request, *, mark: bool) -> list[Json]:
    """Return the system prompt as messages."""
    text = system_text(request)
    if not text:
        return []
    return [{"role": "system", "content": _marked([_text(text)]) if mark else text}]


def chat_messages(message: WireMessage, dialect: Dialect, *, mark: bool = False) -> list[Json]:
    """Return one message of the request as messages of this protocol; `mark` sets a cache breakpoint at its end."""
    blocks = [json.loads(block) for block in message.blocks]
    if message.role == "user" or blocks[0].get("type") == "compaction":
        return _prompt(blocks, dialect, mark=mark)
    return [_answer(blocks, dialect)]


def _prompt(blocks: Sequence[Mapping[str, Any]], dialect: Dialect, *, mark: bool) -> list[Json]:
    """Return results of calls, then a user message. A result takes only text, so its images follow in the message."""
    messages: list[Json] = []
    parts: list[Json] = []
    for block in blocks:
        if block["type"] == "tool_result":
            text, media = outputs(block)
            messages.append(
                {"role": "tool", "tool_call_id": dialect.id_of(block["tool_use_id"]), "content": text}
            )
            parts += [_text(f"[attached to the result of {block['tool_use_id']}]")] if media else []
            parts += map(_media, media)
        else:
            parts.append(_media(block) if attachment(block)[0] else _text(said(block)))
    if parts:
        plain = all(part["type"] == "text" for part in parts) and not mark
        content = "\n\n".join(part["text"] for part in parts) if plain else parts
        messages.append({"role": "user", "content": content})
    if mark:
        last = messages[-1]
        content = last["content"]
        last["content"] = _marked([_text(content)] if isinstance(content, str) else content)
    return messages


def _answer(blocks: Sequence[Mapping[str, Any]], dialect: Dialect) -> dict[str, Json]:
    words: list[str] = []
    calls: list[Json] = []
    thoughts: dict[str, str] = {}
    extra: Json = None
    for at, block in enumerate(blocks):
        match block["type"]:
            case "thinking" if block["signature"].startswith(CHAT) and dialect.thinks_back:
                field = block["signature"].removeprefix(CHAT)
                thoughts[field] = thoughts.get(field, "") + block["thinking"]
            case "redacted_thinking" if block["data"].startswith(EXTRA):
                extra = json.loads(block["data"].removeprefix(EXTRA))
            case "tool_use":
                function = {"name": short_name(block["name"]), "arguments": call_arguments(block)}
                call: dict[str, Json] = {
                    "id": dialect.id_of(block["id"]),
                    "type": "function",
                    "function": function,
                }
                if dialect.signs_calls and (extra or not calls):
                    call["extra_content"] = extra or {"google": {"thought_signature": SKIPPED_SIGNATURE}}
                calls.append(call)
                extra = None
            case "thinking" | "redacted_thinking":
                pass
            case _:
                apart = words and blocks[at - 1]["type"] != "text"
                words += ["\n\n", said(block)] if apart else [said(block)]
    message: dict[str, Json] = {"role": "assistant", "content": "".join(words) or None, **thoughts}
    if calls and dialect.thinks_always and not thoughts:
        message[REASONING_FIELDS[0]] = ""
    return {**message, "tool_calls": calls} if calls else message


def _text(words: str) -> dict[str, Json]:
    return {"type": "text", "text": words}


def _media(block: Mapping[str, Any]) -> dict[str, Json]:
    kind, data = attachment(block)
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": data}}
    return {"type": "file", "file": {"filename": "document.pdf", "file_data": data}}


def _marked(parts: list[Json]) -> list[Json]:
    return [*parts[:-1], {**parts[-1], **breakpoint_here()}]


class ChatChunks:
    """The chunks of one response as events of the Messages API.

    A tool call arrives in pieces with an index. Servers that repeat the id, leave it out, or start the index over for
    each call of an answer are understood: a piece with a name and another id, or none, begins a call.
    """

    def __init__(self, full_names: Mapping[str, str]) -> None:
        self._full_names = full_names
        self._begun = False
        self._open = ""
        self._blocks = 0
        self._calls: dict[int, tuple[int, str]] = {}
        self._stop = ""
        self._refused = False
        self._usage: dict[str, Json] = {}
        self._fields: set[str] = set()

    def events(self, event: Json) -> Iterator[Json]:
        """See `Translation`. The last chunk may follow the stop reason, so the response ends with `[DONE]`."""
        if not isinstance(event, Mapping):
            raise ValueError("a chunk that is not an object")
        if event.get("type") == "[DONE]":
            yield from self.ended()
            return
        if event.get("error"):
            yield {"type": "error", "error": event["error"]}
            return
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        if not isinstance(choice, Mapping):
            raise ValueError("a choice that is not an object")
        if not self._begun:
            self._begun = True
            yield {"type": "message_start", "message": {"model": event.get("model")}}
        yield from self._delta(choice.get("delta") or choice.get("message") or {})
        if reason := choice.get("finish_reason"):
            self._stop = str(reason)
        groq = event.get("x_groq")
        places = (
            event.get("usage"),
            choice.get("usage"),
            groq.get("usage") if isinstance(groq, dict) else None,
        )
        for usage in places:
            if isinstance(usage, Mapping):
                self._usage = usage_counts(usage)

    def ended(self) -> Iterator[Json]:
        """See `Translation`. Without a stop reason the response was cut off."""
        if not self._stop:
            return
        yield from self._close()
        for at, _ in self._calls.values():
            yield {"type": "content_block_stop", "index": at}
        stop = STOP_REASONS.get(self._stop, self._stop)
        if self._refused:
            stop = "refusal"
        elif stop == "end_turn" and self._calls:
            stop = "tool_use"
        yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": self._usage}
        yield {"type": "message_stop"}

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Json]:
        for field in REASONING_FIELDS:
            thought = delta.get(field)
            if isinstance(thought, str) and thought and (not self._fields or field in self._fields):
                self._fields.add(field)
                yield from self._piece("thinking", thought, field)
        yield from self._content(delta.get("content"))
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._refused = True
            yield from self._piece("text", refusal)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                yield from self._call(call)

    def _content(self, content: Json) -> Iterator[Json]:
        """Yield text, also where it comes in parts with thinking among them (Mistral)."""
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, str) and part:
                yield from self._piece("text", part)
            elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
                yield from self._piece("text", part["text"])
            elif isinstance(part, Mapping) and isinstance(part.get("thinking"), list):
                for one in part["thinking"]:
                    if isinstance(one, Mapping) and isinstance(one.get("text"), str):
                        yield from self._piece("thinking", one["text"], REASONING_FIELDS[0])

    def _piece(self, kind: str, words: str, field: str = "") -> Iterator[Json]:
        """Yield words of text or thinking, and the start of their block if another is open."""
        if self._open != f"{kind}{field}":
            yield from self._close()
            self._open = f"{kind}{field}"
            head = {"type": kind, "signature": f"{CHAT}{field}"} if field else {"type": kind}
            yield {"type": "content_block_start", "index": self._blocks, "content_block": head}
            self._blocks += 1
        delta = {"type": f"{kind}_delta", kind: words}
        yield {"type": "content_block_delta", "index": self._blocks - 1, "delta": delta}

    def _close(self) -> Iterator[Json]:
        if self._open:
            self._open = ""
            yield {"type": "content_block_stop", "index": self._blocks - 1}

    def _call(self, call: Mapping[str, Any]) -> Iterator[Json]:
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        index, call_id, name = call.get("index"), call.get("id") or "", function.get("name")
        index = index if type(index) is int else len(self._calls) - (0 if name else 1)
        known = self._calls.get(index)
        if known is None or (name and call_id and call_id != known[1]):
            if not name:
                raise ValueError("a piece of a call that never began")
            yield from self._close()
            if known is not None:
                yield {"type": "content_block_stop", "index": known[0]}
            if extra := call.get("extra_content"):
                head = {"type": "redacted_thinking", "data": EXTRA + json.dumps(extra, separators=(",", ":"))}
                yield {"type": "content_block_start", "index": self._blocks, "content_block": head}
                yield {"type": "content_block_stop", "index": self._blocks}
                self._blocks += 1
            known = self._calls[index] = (self._blocks, call_id)
            head = {"type": "tool_use", "id": call_id, "name": self._full_names.get(name, name)}
            yield {"type": "content_block_start", "index": self._blocks, "content_block": head}
            self._blocks += 1
        given = function.get("arguments")
        piece = given if isinstance(given, str) else "" if given is None else json.dumps(given)
        if piece:
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield {"type": "content_block_delta", "index": known[0], "delta": delta}
