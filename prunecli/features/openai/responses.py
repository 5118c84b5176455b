"""The Responses API: a request as its body, and its events as those of the Messages API.

Both directions are pure. Each message is translated by itself, so that the translations of a long session are kept.
Nothing is stored by the endpoint: reasoning items are sent back with their encrypted content, to the model that wrote
them. An endpoint that cannot use one says so, and the loop leaves it out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prunecli.features.openai.tables import (
    ENCRYPTED,
    PHASE,
    REASONING,
    STOP_REASONS,
    SUMMARY,
    Dialect,
    has_phases,
    reasons,
    short_id,
    undated,
)
from prunecli.features.openai.wording import (
    attachment,
    breakpoint_here,
    cache_fields,
    call_arguments,
    full_names,
    function_tools,
    outputs,
    said,
    short_name,
    system_text,
    usage_counts,
)
from prunecli.model.messages import Json
from prunecli.model.requests import SEARCH, Request, WireMessage
from prunecli.model.searches import USE, is_result_type
from prunecli.providers.other_wires import SEARCH_ID

PATH = "/responses"
_LOSSES = {
    "prefix_mismatch": "prefix_binding_mismatch",
    "model_mismatch": "model_binding_mismatch",
    "organization_mismatch": "organization_binding_mismatch",
    "end_user_mismatch": "end_user_binding_mismatch",
}
"""Why the endpoint removed a reasoning item, in the words of the Messages API. `turn_boundary` is no loss: models
before GPT-5.6 read the reasoning of the current turn only."""


def responses_fields(request: Request, dialect: Dialect, *, mark: bool) -> dict[str, Json]:
    """Return the body of a request, without its input."""
    fields: dict[str, Json] = {
        "model": request.model,
        "stream": True,
        "store": False,
        "max_output_tokens": request.max_tokens,
    }
    if (text := system_text(request)) and not mark:
        fields["instructions"] = text
    thinking: dict[str, Json] = {"effort": request.effort} if request.effort else {}
    if (
        dialect.encrypts
        and (reasons(request.model) or not dialect.is_openai)
        and ENCRYPTED not in request.without
    ):
        fields["include"] = ["reasoning.encrypted_content"]
    if reasons(request.model) and SUMMARY not in request.without:
        thinking["summary"] = "auto"
    if thinking:
        fields["reasoning"] = thinking
    tools: list[Json] = [{"type": "function", "strict": False, **tool} for tool in function_tools(request)]
    if SEARCH in request.optional_fields:
        tools.append({"type": "web_search"})
        fields["include"] = [*fields.get("include", ()), "web_search_call.action.sources"]
    if tools:
        fields["tools"] = tools
    return {**fields, **cache_fields(request, dialect)}


def system_items(request: Request) -> list[Json]:
    """Return the system prompt as an input item with a cache breakpoint, which `instructions` cannot have."""
    text = system_text(request)
    part = {"type": "input_text", "text": text, **breakpoint_here()}
    return [{"type": "message", "role": "developer", "content": [part]}] if text else []


def input_items(
    message: WireMessage, model: str, without: frozenset[str] = frozenset(), *, mark: bool = False
) -> list[Json]:
    """Return one message of the request as input items; `mark` sets a cache breakpoint at its end."""
    blocks = [json.loads(block) for block in message.blocks]
    if message.role == "user" or blocks[0].get("type") == "compaction":
        return _prompt(blocks, mark=mark)
    return _answer(blocks, model, phases=has_phases(model) and PHASE not in without)


def _prompt(blocks: Sequence[Mapping[str, Any]], *, mark: bool) -> list[Json]:
    items: list[Json] = []
    parts: list[Json] = []
    for block in blocks:
        if block["type"] == "tool_result":
            text, media = outputs(block)
            output: Json = [_text(text), *map(_media, media)] if media else text
            items.append(
                {"type": "function_call_output", "call_id": short_id(block["tool_use_id"]), "output": output}
            )
        else:
            parts.append(_media(block) if attachment(block)[0] else _text(said(block)))
    if parts:
        items.append({"type": "message", "role": "user", "content": parts})
    if mark:
        field = "content" if parts else "output"
        whole = items[-1][field]
        whole = [_text(whole)] if isinstance(whole, str) else whole
        items[-1][field] = [*whole[:-1], {**whole[-1], **breakpoint_here()}]
    return items


def _answer(blocks: Sequence[Mapping[str, Any]], model: str, *, phases: bool) -> list[Json]:
    phase = "commentary" if any(block["type"] == "tool_use" for block in blocks) else "final_answer"
    items: list[Json] = []
    for block in blocks:
        match block["type"]:
            case "thinking":
                items += _reasoning(block, model)
            case "redacted_thinking":
                pass
            case "tool_use":
                call = {
                    "call_id": short_id(block["id"]),
                    "name": short_name(block["name"]),
                    "arguments": call_arguments(block),
                }
                items.append({"type": "function_call", **call})
            case kind if kind == USE and str(block.get("id", "")).startswith(SEARCH_ID):
                found = {"id": block["id"], "status": "completed", "action": block["input"]}
                items.append({"type": "web_search_call", **found})
            case kind if is_result_type(kind) and str(block.get("tool_use_id", "")).startswith(SEARCH_ID):
                pass  # a part of the call
            case _:
                last = items[-1] if items else {}
                if last.get("role") == "assistant":
                    last["content"] += said(block)
                else:
                    message = {"type": "message", "role": "assistant", "content": said(block)}
                    items.append({**message, "phase": phase} if phases else message)
    while items and items[-1]["type"] == "reasoning":  # the endpoint rejects reasoning without what it led to
        items.pop()
    return items


def _reasoning(block: Mapping[str, Any], model: str) -> list[Json]:
    """Return a reasoning item as it came; none if another model or another protocol wrote it."""
    if not block["signature"].startswith(REASONING):
        return []
    item = json.loads(block["signature"].removeprefix(REASONING))
    if undated(item.pop("model", "")) != undated(model):
        return []
    text = block["thinking"]
    summary = [{"type": "summary_text", "text": text}] if text else []
    known = {name: one for name, one in item.items() if one is not None}
    return [{"type": "reasoning", "summary": summary, **known}]


def _text(words: str) -> dict[str, Json]:
    return {"type": "input_text", "text": words}


def _media(block: Mapping[str, Any]) -> dict[str, Json]:
    kind, data = attachment(block)
    if kind == "image":
        return {"type": "input_image", "image_url": data, "detail": "auto"}
    return {"type": "input_file", "filename": "document.pdf", "file_data": data}


class ResponseEvents:
    """The events of one response as events of the Messages API.

    A block's key is its item and part. Items are translated as they stream; one that did not stream, from its end.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._full_names = full_names(request)
        self._open: dict[tuple[Json, Json], int] = {}
        self._written: set[int] = set()
        self._blocks = 0
        self._calls = 0
        self._searches = 0
        self._refused = False

    def events(self, event: Json) -> Iterator[Json]:
        """See `Translation`."""
        if not isinstance(event, Mapping):
            raise ValueError("an event that is not an object")
        item, output = event.get("item"), event.get("output_index")
        part, delta = (output, event.get("content_index")), event.get("delta")
        match event.get("type"):
            case "response.created":
                yield {"type": "message_start", "message": {"model": _response(event).get("model")}}
            case "response.output_item.added" if isinstance(item, Mapping):
                if item.get("type") == "function_call":
                    yield from self._begin((output, None), self._call_head(item))
            case "response.output_text.delta":
                yield from self._piece(part, "text", delta)
            case "response.refusal.delta":
                self._refused = True
                yield from self._piece(part, "text", delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._piece((output, None), "thinking", delta)
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                yield from self._piece((output, None), "thinking", "\n\n")
            case "response.function_call_arguments.delta":
                yield from self._arguments((output, None), delta)
            case "response.output_item.done" if isinstance(item, Mapping):
                yield from self._finish(output, item)
            case "response.completed" | "response.incomplete":
                yield from self._end(_response(event))
            case "response.failed":
                error = _response(event).get("error")
                yield {"type": "error", "error": error or {"message": "the response failed"}}
            case "error":
                yield {"type": "error", "error": event.get("error") or dict(event, type=event.get("code"))}

    def ended(self) -> Iterator[Json]:
        """See `Translation`. A response that ends without its last event was cut off."""
        return iter(())

    def _begin(self, key: tuple[Json, Json], head: Mapping[str, Json]) -> Iterator[Json]:
        self._open[key] = self._blocks
        yield {"type": "content_block_start", "index": self._blocks, "content_block": head}
        self._blocks += 1

    def _piece(self, key: tuple[Json, Json], kind: str, words: Json) -> Iterator[Json]:
        if not isinstance(words, str):
            return
        if key not in self._open:
            yield from self._begin(key, {"type": kind})
        self._written.add(self._open[key])
        delta = {"type": f"{kind}_delta", kind: words}
        yield {"type": "content_block_delta", "index": self._open[key], "delta": delta}

    def _arguments(self, key: tuple[Json, Json], words: Json) -> Iterator[Json]:
        if key not in self._open:
            raise ValueError("arguments for a call that never began")
        self._written.add(self._open[key])
        delta = {"type": "input_json_delta", "partial_json": words}
        yield {"type": "content_block_delta", "index": self._open[key], "delta": delta}

    def _finish(self, output: Json, item: Mapping[str, Any]) -> Iterator[Json]:
        """Yield what has not streamed of an item, and the ends of its blocks."""
        key = (output, None)
        match item.get("type"):
            case "reasoning":
                if key not in self._open:
                    yield from self._piece(key, "thinking", _reasoning_text(item))
                yield from self._signature(key, item)
            case "message":
                for at, part in enumerate(item.get("content") or ()):
                    self._refused |= part.get("type") == "refusal"
                    if (output, at) not in self._open:
                        yield from self._piece((output, at), "text", part.get("text") or part.get("refusal"))
            case "function_call":
                self._calls += 1
                if key not in self._open:
                    yield from self._begin(key, self._call_head(item))
                if self._open[key] not in self._written and item.get("arguments"):
                    yield from self._arguments(key, item["arguments"])
            case "web_search_call":
                yield from self._search(item)
        for key in [key for key in self._open if key[0] == output]:
            yield {"type": "content_block_stop", "index": self._open.pop(key)}

    def _call_head(self, item: Mapping[str, Any]) -> dict[str, Json]:
        call_id, name = str(item.get("call_id") or item.get("id") or ""), str(item.get("name") or "")
        return {"type": "tool_use", "id": call_id, "name": self._full_names.get(name, name)}

    def _signature(self, key: tuple[Json, Json], item: Mapping[str, Any]) -> Iterator[Json]:
        """Yield what lets a reasoning item be sent back; one without encrypted content is only shown."""
        if item.get("encrypted_content"):
            kept = {"id": item.get("id"), "encrypted_content": item["encrypted_content"]}
            signature = REASONING + json.dumps({**kept, "model": self._request.model}, separators=(",", ":"))
            delta = {"type": "signature_delta", "signature": signature}
            yield {"type": "content_block_delta", "index": self._open[key], "delta": delta}

    def _search(self, item: Mapping[str, Any]) -> Iterator[Json]:
        """Yield a search of the endpoint as the pair of blocks that the Messages API has for it."""
        action = item.get("action")
        action = action if isinstance(action, Mapping) else {}
        self._searches += action.get("type", "search") == "search"
        sources = action.get("sources")
        rows = [
            {"type": "web_search_result", "title": "", "url": one["url"]}
            for one in (sources if isinstance(sources, list) else ())
            if isinstance(one, Mapping) and isinstance(one.get("url"), str)
        ]
        call_id = str(item.get("id") or f"{SEARCH_ID}{self._blocks}")
        kept = {name: value for name, value in action.items() if name != "sources"}
        use = {"type": USE, "id": call_id, "name": SEARCH, "input": kept}
        result = {"type": f"{SEARCH}_tool_result", "tool_use_id": call_id, "content": rows}
        for block in (use, result):
            yield from self._begin((call_id, block["type"]), block)
            yield {"type": "content_block_stop", "index": self._open.pop((call_id, block["type"]))}

    def _end(self, response: Mapping[str, Any]) -> Iterator[Json]:
        details = response.get("incomplete_details")
        why = details.get("reason") if isinstance(details, Mapping) else None
        stop = STOP_REASONS.get(str(why), str(why)) if why else "tool_use" if self._calls else "end_turn"
        usage = response.get("usage")
        delta = {"type": "message_delta", "delta": {"stop_reason": "refusal" if self._refused else stop}}
        if isinstance(usage, Mapping):
            delta["usage"] = usage_counts(usage, self._searches)
        removed = response.get("input_transformations")
        if isinstance(removed, list) and (losses := self._losses(removed)):
            delta["input_transformations"] = losses
        yield delta
        yield {"type": "message_stop"}

    def _losses(self, removed: Sequence[Json]) -> list[Json]:
        """Return the reasoning that the endpoint removed, with its place in the request."""
        why = {one["id"]: one.get("reason") for one in removed if isinstance(one, dict) and "id" in one}
        found: list[Json] = []
        for at, message in enumerate(self._request.messages):
            for place, block in enumerate(message.blocks if message.role == "assistant" else ()):
                if REASONING.encode() in block:
                    item = json.loads(json.loads(block)["signature"].removeprefix(REASONING))
                    if (reason := _LOSSES.get(str(why.get(item.get("id"))))) is not None:
                        path = f"messages.{at}.content.{place}"
                        found.append({"type": "thinking_dropped", "path": path, "reason": reason})
        return found


def _response(event: Mapping[str, Any]) -> Mapping[str, Any]:
    found = event.get("response")
    return found if isinstance(found, Mapping) else {}


def _reasoning_text(item: Mapping[str, Any]) -> str:
    parts = item.get("summary") or item.get("content") or ()
    return "\n\n".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))
