"""Would OpenAI take this request? The SDK's types, then the rules of the documentation, for both protocols.

Sources: the types of the openai SDK 3.57, its API reference and guides (function calling, reasoning, prompt caching,
conversation state), and error texts quoted in public trackers.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

from tests.endpoint.shape import RefusedError
from tests.openai_endpoint.typed import flaw

Json = Any

CHAT, RESPONSES = "/chat/completions", "/responses"
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LONGEST_ID = {CHAT: 40, RESPONSES: 64}
MOST_TOOLS = 128
UNTYPED, UNTYPED_OF_TOOLS = ("client_metadata",), ("search_content_types",)
"""Fields that the service takes from Codex CLI, and that the SDK's types do not have; so it is with the ids of
messages."""
_DATA = re.compile(r"data:[a-z]+/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+=*")
_EXPLICIT = re.compile(r"gpt-(?:5\.[6-9]|[6-9])")
_REASONS = re.compile(r"gpt-(?:[5-9]|oss)|o\d|codex")
_OUTPUTS = ("message", "function_call", "web_search_call", "custom_tool_call", "reasoning")


@dataclass(frozen=True, slots=True)
class OpenAiRules:
    """What this endpoint accepts. `refused` are fields that it does not know; `lenient` leaves out what only OpenAI's
    own service checks (unknown fields of messages, such as `reasoning_content`). `key`: "" for no key at all. Off,
    `judged` lets everything pass unread, for figures of speed."""

    window: int = 400_000
    refused: Sequence[str] = ()
    lenient: bool = False
    key: str = ""
    cache_seconds: float = 600.0
    stream_usage: bool = True
    models: Sequence[str] = ("gpt-5", "gpt-5.5", "gpt-6-sol", "deepseek-chat", "local")
    body_limit: int = 64_000_000
    judged: bool = True


@dataclass(slots=True)
class Issued:
    """The reasoning items that this endpoint wrote: the encrypted content and the model, by id."""

    items: dict[str, tuple[str, str]] = field(default_factory=dict)


def refuse(message: str, param: str = "", code: str | None = None, status: int = 400) -> RefusedError:
    """The error for a request that is not taken."""
    return RefusedError(param, message, status, "invalid_request_error", code)


def check(path: str, body: bytes, rules: OpenAiRules, issued: Issued) -> dict[str, Json]:
    """The parsed body of a request that would be taken. Raises RefusedError."""
    try:
        request = json.loads(body.decode(), parse_constant=_no_constant, object_pairs_hook=_unique)
        json.dumps(request, ensure_ascii=False).encode()
    except ValueError as error:
        raise refuse(f"We could not parse the JSON body of your request: {error}") from error
    if not isinstance(request, dict):
        raise refuse("the body is not an object")
    for name in rules.refused:
        if name in request:
            raise refuse(f"Unsupported parameter: '{name}' is not supported.", name, "unsupported_parameter")
    kind = CompletionCreateParamsStreaming if path == CHAT else ResponseCreateParamsStreaming
    known = _typed(request)
    if wrong := flaw(_stripped(known) if rules.lenient else known, kind):
        raise refuse(f"{wrong}.", re.sub(r".*'(.*)'.*", r"\1", wrong), "unknown_parameter")
    if request["stream"] is not True:
        raise refuse("this endpoint only streams", "stream")
    _check_cache(request)
    _check_tools(path, request.get("tools", ()))
    if path == CHAT:
        _check_chat(request, rules)
    else:
        _check_responses(request, issued)
    return request


def _typed(request: Mapping[str, Json]) -> dict[str, Json]:
    """The request without what the service takes beyond the SDK's types."""
    known = {name: one for name, one in request.items() if name not in UNTYPED}
    if isinstance(known.get("input"), list):
        known["input"] = [
            {name: one for name, one in item.items() if name != "id"}
            if isinstance(item, dict) and item.get("type", "message") == "message"
            else item
            for item in known["input"]
        ]
    if isinstance(known.get("tools"), list):
        known["tools"] = [
            {name: one for name, one in tool.items() if name not in UNTYPED_OF_TOOLS}
            for tool in known["tools"]
        ]
    return known


def _stripped(request: Mapping[str, Json]) -> dict[str, Json]:
    """The request without what servers beside OpenAI accept in earlier answers."""
    if "messages" not in request:
        return dict(request)
    messages = []
    for message in request["messages"]:
        kept = {name: one for name, one in message.items() if name not in ("reasoning", "reasoning_content")}
        if "tool_calls" in kept:
            kept["tool_calls"] = [
                {name: one for name, one in call.items() if name != "extra_content"}
                for call in kept["tool_calls"]
            ]
        messages.append(kept)
    return {**request, "messages": messages}


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate keys")
    return found


def _check_cache(request: Mapping[str, Json]) -> None:
    """Breakpoints belong to GPT-5.6 and newer models, retention to older ones."""
    marks = sum(1 for _ in breakpoints(request))
    explicit = _EXPLICIT.match(request["model"]) is not None
    if (marks or "prompt_cache_options" in request) and not explicit:
        raise refuse("prompt_cache_options is not supported with this model", "prompt_cache_options")
    if request.get("prompt_cache_retention") and explicit:
        raise refuse("prompt_cache_retention is not supported with this model", "prompt_cache_retention")
    if marks > 4:
        raise refuse(f"{marks} breakpoints; at most 4 are written", "prompt_cache_breakpoint")
    if len(request.get("prompt_cache_key", "")) > 64:
        raise refuse("prompt_cache_key: string too long", "prompt_cache_key")


def breakpoints(value: Json) -> Iterator[Json]:
    """The content parts with a cache breakpoint."""
    if isinstance(value, dict):
        if "prompt_cache_breakpoint" in value:
            yield value
        for one in value.values():
            yield from breakpoints(one)
    elif isinstance(value, list):
        for one in value:
            yield from breakpoints(one)


def _check_tools(path: str, tools: Sequence[Mapping[str, Json]]) -> None:
    names = set[str]()
    if len(tools) > MOST_TOOLS:
        raise refuse(f"{len(tools)} tools; at most {MOST_TOOLS}", "tools")
    for at, tool in enumerate(tools):
        if tool["type"] != "function":
            continue
        function = tool["function"] if path == CHAT else tool
        if not NAME.fullmatch(function["name"]):
            raise refuse(
                f"Invalid 'tools[{at}].name': {function['name']!r} does not match the pattern", "tools"
            )
        if function["name"] in names:
            raise refuse(f"tools[{at}]: the name is taken", "tools")
        names.add(function["name"])
        if (function.get("parameters") or {"type": "object"}).get("type") != "object":
            raise refuse(f"Invalid schema for function '{function['name']}': not of type object", "tools")
        if path == RESPONSES and function["strict"]:
            raise refuse("the schemas of this test are not strict", "tools")


def _check_chat(request: Mapping[str, Json], rules: OpenAiRules) -> None:
    messages = request["messages"]
    if not messages:
        raise refuse("Invalid 'messages': empty array", "messages")
    if _REASONS.match(request["model"]) and "max_tokens" in request and not rules.lenient:
        text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
        raise refuse(text, "max_tokens", "unsupported_parameter")
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        place, role, content = f"messages[{at}]", message["role"], message.get("content")
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                text = (
                    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                )
                raise refuse(f"Invalid parameter: {text}", f"{place}.role")
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            text = (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            )
            raise refuse(f"{text} 'tool_call_id': {', '.join(open_calls)}", "messages")
        calls = message.get("tool_calls") or ()
        if not content and not calls:
            raise refuse(f"{place}: content is empty", f"{place}.content")
        for part in content if isinstance(content, list) else ():
            _check_part(part, place)
            if role == "tool" and part["type"] != "text":
                raise refuse(f"{place}: a tool message has only text", place)
        for call in calls:
            _check_call(call["function"]["name"], call["id"], CHAT, place)
            open_calls.append(call["id"])
        if len(set(open_calls)) < len(open_calls):
            raise refuse(f"{place}: the same id twice", place)
    if open_calls:
        raise refuse(f"no tool message for {', '.join(open_calls)}", "messages")


def _check_call(name: str, call_id: str, path: str, place: str) -> None:
    if not NAME.fullmatch(name):
        raise refuse(f"Invalid '{place}.name': {name!r} does not match the pattern", place)
    if not call_id or len(call_id) > LONGEST_ID[path]:
        text = f"expected a string with maximum length {LONGEST_ID[path]}, got length {len(call_id)}"
        raise refuse(f"Invalid '{place}.id': {text}", place)


def _check_part(part: Mapping[str, Json], place: str) -> None:
    if part["type"] in ("text", "input_text") and not part["text"]:
        raise refuse(f"{place}: an empty text", place)
    url = part.get("image_url")
    url = url.get("url") if isinstance(url, dict) else url
    url = (part.get("file") or {}).get("file_data") or part.get("file_data") or url
    if url is not None and not _DATA.fullmatch(url):
        raise refuse(f"Invalid '{place}': not a valid data URL", place)


def _check_responses(request: Mapping[str, Json], issued: Issued) -> None:
    items = request["input"]
    if not items:
        raise refuse("Invalid 'input': empty array", "input")
    if request.get("store") is not False:
        raise refuse("prunecli asks endpoints to store nothing", "store")
    if not _REASONS.match(request["model"]) and request.get("reasoning"):
        raise refuse("Unsupported parameter: 'reasoning' is not supported with this model.", "reasoning")
    calls: dict[str, bool] = {}
    for at, item in enumerate(items):
        place = f"input[{at}]"
        match item.get("type", "message"):
            case "message":
                for part in item["content"] if isinstance(item["content"], list) else ():
                    _check_part(part, place)
                if not item["content"]:
                    raise refuse(f"Invalid '{place}.content': empty", place)
            case "function_call":
                _check_call(item["name"], item["call_id"], RESPONSES, place)
                if item["call_id"] in calls:
                    raise refuse(f"Duplicate function call id {item['call_id']}", place)
                calls[item["call_id"]] = False
            case "function_call_output":
                if calls.get(item["call_id"], True):
                    raise refuse(
                        f"No tool call found for function call output with call_id {item['call_id']}.", place
                    )
                calls[item["call_id"]] = True
                for part in item["output"] if isinstance(item["output"], list) else ():
                    _check_part(part, place)
            case "reasoning":
                _check_reasoning(item, items[at + 1 : at + 2], request["model"], issued)
    if missing := [call for call, answered in calls.items() if not answered]:
        raise refuse(f"No tool output found for function call {missing[0]}.", "input")


def _check_reasoning(
    item: Mapping[str, Json], behind: Sequence[Mapping[str, Json]], model: str, issued: Issued
) -> None:
    sealed = issued.items.get(item["id"])
    text = f"The encrypted content for item {item['id']} could not be verified."
    if sealed != (item.get("encrypted_content"), model):
        raise refuse(text, "input", "invalid_encrypted_content")
    if not behind or behind[0].get("type", "message") not in _OUTPUTS or behind[0].get("role") == "user":
        text = "of type 'reasoning' was provided without its required following item."
        raise refuse(f"Item '{item['id']}' {text}", "input")
