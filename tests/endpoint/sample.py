"""What does a right request look like? Bodies, messages and headers that the tests here spoil on purpose.

`verdict` judges one body without a socket and gives the refusal's message, "" when it is accepted.
"""

import json
from typing import Any

from tests.endpoint.http1 import HttpRequest
from tests.endpoint.judge import Judge
from tests.endpoint.rules import VERSION_2026, Rules
from tests.endpoint.shape import RefusedError

HEADERS = {
    "x-api-key": "sk-ant-test",
    "anthropic-version": VERSION_2026,
    "content-type": "application/json",
}

TOOL = {
    "name": "read",
    "description": "Read a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


def user(*content: Any) -> dict[str, Any]:
    """A user message; strings are text blocks."""
    return {"role": "user", "content": [_block(item) for item in content]}


def assistant(*content: Any) -> dict[str, Any]:
    """An assistant message; strings are text blocks."""
    return {"role": "assistant", "content": [_block(item) for item in content]}


def _block(item: Any) -> Any:
    return {"type": "text", "text": item} if isinstance(item, str) else item


def call(name: str, **given: Any) -> dict[str, Any]:
    """A tool_use block with this id."""
    return {"type": "tool_use", "id": name, "name": "read", "input": given}


def result(name: str, content: Any = "text of the file", **more: Any) -> dict[str, Any]:
    """A tool_result block for the call with this id."""
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def body(*messages: Any, **fields: Any) -> dict[str, Any]:
    """A right request with these messages; a field given as None is left out."""
    whole = {
        "model": "claude-sonnet-5",
        "max_tokens": 1000,
        "stream": True,
        "messages": list(messages) or [user("hello")],
        **fields,
    }
    return {name: value for name, value in whole.items() if value is not None}


def post(value: Any, **headers: str | None) -> HttpRequest:
    """The POST of a body (bytes are sent as they are); a header given as None is left out."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    sent = {name: text for name, text in {**HEADERS, **names}.items() if text is not None}
    return HttpRequest("POST", "/v1/messages", sent, raw)


def verdict(value: Any, rules: Rules | None = None, counting: bool = False, **headers: str | None) -> str:
    """The message with which this body is refused, "" when it is accepted."""
    try:
        Judge(rules or Rules()).judge(post(value, **headers), counting)
    except RefusedError as error:
        return str(error)
    return ""
