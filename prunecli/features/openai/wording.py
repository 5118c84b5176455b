"""What both protocols share: texts, attachments, tools, usage and cache fields."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from prunecli.features.openai.tables import CACHE_KEY, CACHE_OPTIONS, RETENTION, Dialect, has_breakpoints
from prunecli.model.codec import is_count
from prunecli.model.messages import INVALID_INPUT, Json
from prunecli.model.requests import Request
from prunecli.model.searches import in_words, is_result_type

_LONGEST_NAME = 64

FAILED = "[the call failed]\n"
"""Begins the result of a failed call: these protocols have no field for that."""


def system_text(request: Request) -> str:
    """Return the system prompt as one text."""
    return "\n\n".join(json.loads(block)["text"] for block in request.preamble.system)


def short_name(name: str) -> str:
    """Return a tool's name as these protocols accept it: at most 64 characters."""
    return (
        name
        if len(name) <= _LONGEST_NAME
        else f"{name[: _LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    )


def full_names(request: Request) -> dict[str, str]:
    """Return the tools whose names had to be shortened, by the short name."""
    names = (str(json.loads(tool).get("name") or "") for tool in request.preamble.tools)
    return {short_name(name): name for name in names if len(name) > _LONGEST_NAME}


def function_tools(request: Request) -> list[dict[str, Json]]:
    """Return the tools that prunecli runs: name, description and JSON schema of each."""
    tools = (json.loads(tool) for tool in request.preamble.tools)
    return [
        {
            "name": short_name(tool["name"]),
            "description": tool.get("description", ""),
            "parameters": tool["input_schema"],
        }
        for tool in tools
        if "input_schema" in tool
    ]


def said(block: Mapping[str, Any]) -> str:
    """Return a block as text: words, a summary, or a search by another endpoint."""
    match block["type"]:
        case "text":
            return str(block["text"])
        case "compaction":
            return str(block.get("content") or "")
        case "server_tool_use":
            return in_words(block)
        case kind if is_result_type(kind):
            return in_words(block)
        case kind:
            return f"[a block of the type {kind}, which this protocol does not have]"


def attachment(block: Mapping[str, Any]) -> tuple[str, str]:
    """Return an image or a document as its kind and a data URL; ("", "") for another block."""
    source = block.get("source")
    if block["type"] not in ("image", "document") or not isinstance(source, Mapping) or "data" not in source:
        return "", ""
    return block["type"], f"data:{source['media_type']};base64,{source['data']}"


def outputs(result: Mapping[str, Any]) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """Return a result's text and its attachments."""
    media = [block for block in result["content"] if attachment(block)[0]]
    text = "\n".join(said(block) for block in result["content"] if not attachment(block)[0])
    text = text or ("(see the attachment)" if media else "(no output)")
    return (FAILED + text if result.get("is_error") else text), media


def call_arguments(call: Mapping[str, Any]) -> str:
    """Return the arguments of a call as the model wrote them, or as JSON. Arguments that were no JSON are sent as
    they were."""
    given = call["input"]
    if given.keys() == {INVALID_INPUT}:
        return json.dumps({INVALID_INPUT: given[INVALID_INPUT]}, ensure_ascii=False)
    return json.dumps(given, ensure_ascii=False, separators=(",", ":"))


def breakpoint_here() -> dict[str, Json]:
    """Return the field of a content part that ends a cached prefix."""
    return {"prompt_cache_breakpoint": {"mode": "explicit"}}


def has_marks(request: Request) -> bool:
    """Return whether the request sets its own cache breakpoints, because the endpoint bills each write."""
    return has_breakpoints(request.model) and bool(request.cache_ttl) and CACHE_OPTIONS not in request.without


def cache_fields(request: Request, dialect: Dialect) -> dict[str, Json]:
    """Return the fields about the prompt cache.

    The key sends the requests of a session to the same machine. Models with paid writes get breakpoints; for older
    models of OpenAI, a lifetime of an hour asks for the longest retention.
    """
    fields: dict[str, Json] = {}
    if dialect.has_cache_key and CACHE_KEY not in request.without and request.messages:
        digest = hashlib.sha256(request.preamble.digest() + request.messages[0].canonical)
        fields["prompt_cache_key"] = digest.hexdigest()[:32]
    if not dialect.is_openai:
        return fields
    if has_marks(request):
        fields["prompt_cache_options"] = {"mode": "explicit"}
    elif (
        RETENTION not in request.without and request.cache_ttl == "1h" and not has_breakpoints(request.model)
    ):
        fields["prompt_cache_retention"] = "24h"
    return fields


def usage_counts(usage: Mapping[str, Any], searches: int = 0) -> dict[str, Json]:
    """Return a usage in the names of the Messages API.

    Both protocols count cached and written tokens among those of the prompt. A server that does not report writes
    caches by itself and for nothing: the count of writes is left out. DeepSeek has fields of its own.
    """
    prompt = _count(usage, "input_tokens", "prompt_tokens") or 0
    details = _inner(usage, "input_tokens_details", "prompt_tokens_details")
    output = _inner(usage, "output_tokens_details", "completion_tokens_details")
    read = _count(details, "cached_tokens")
    read = _count(usage, "prompt_cache_hit_tokens", "cached_tokens") if read is None else read
    written = _count(details, "cache_write_tokens")
    fresh = max(0, prompt - (read or 0) - (written or 0))
    counts: dict[str, Json] = {
        "input_tokens": fresh,
        "output_tokens": _count(usage, "output_tokens", "completion_tokens") or 0,
        "output_tokens_details": {"thinking_tokens": _count(output, "reasoning_tokens")},
    }
    if read is not None:
        counts["cache_read_input_tokens"] = read
    if written:
        counts["cache_creation_input_tokens"] = written
    if searches:
        counts["server_tool_use"] = {"web_search_requests": searches}
    return counts


def _inner(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    given = (usage.get(name) for name in names)
    return next((one for one in given if isinstance(one, Mapping)), {})


def _count(values: Mapping[str, Any], *names: str) -> int | None:
    return next((values[name] for name in names if is_count(values.get(name))), None)
