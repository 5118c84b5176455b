"""Searches that the service runs itself: the blocks of an answer, and whether a request sends them back right.

A result is sealed: `encrypted_content` must come back as it was sent. A call and its result belong to one message;
only in a turn that was paused may the last call wait for it.
"""

import base64
import hmac
import re
from collections.abc import Mapping, Sequence

from tests.endpoint.script import Raw
from tests.endpoint.shape import Json, RefusedError, expect, pattern, shape

USE, RESULT = "server_tool_use", "web_search_tool_result"
_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_KEY = b"searches of the fake"
UNANSWERED = (
    "`web_search` tool use with id `{id}` was found without a corresponding `web_search_tool_result` block"
)
UNASKED = (
    "unexpected `tool_use_id` found in `web_search_tool_result` blocks: {id}. Each `web_search_tool_result` block "
    "must have a corresponding `server_tool_use` block before it."
)
ERRORS = ("invalid_tool_input", "unavailable", "max_uses_exceeded", "too_many_requests", "query_too_long")


def asks(query: str, number: int = 1) -> Raw:
    """The call of a search."""
    whole = {"type": USE, "id": f"srvtoolu_{number:020}", "name": "web_search", "input": {"query": query}}
    deltas = [
        {"type": "input_json_delta", "partial_json": part} for part in ('{"query": ', f'"{query}"', "}")
    ]
    return Raw({**whole, "input": {}}, tuple(deltas), whole)


def finds(*pages: tuple[str, str], number: int = 1, error: str = "") -> Raw:
    """The result of a search: titles and URLs, or an error."""
    rows: Json = [
        {
            "type": "web_search_result",
            "title": title,
            "url": url,
            "encrypted_content": sealed(url),
            "page_age": "November 3, 2026",
        }
        for title, url in pages
    ]
    content = {"type": "web_search_tool_result_error", "error_code": error} if error else rows
    return Raw({"type": RESULT, "tool_use_id": f"srvtoolu_{number:020}", "content": content})


def cites(text: str, title: str, url: str) -> Raw:
    """Text with a citation of a page."""
    citation = {
        "type": "web_search_result_location",
        "url": url,
        "title": title,
        "encrypted_index": sealed(f"index of {url}"),
        "cited_text": text[:20],
    }
    whole = {"type": "text", "text": text, "citations": [citation]}
    deltas = ({"type": "text_delta", "text": text}, {"type": "citations_delta", "citation": citation})
    return Raw({"type": "text", "text": "", "citations": []}, deltas, whole)


def sealed(text: str) -> str:
    """What only the service can make of a text."""
    mark = hmac.digest(_KEY, text.encode(), "sha256")
    return base64.b64encode(mark + text.encode() * 20).decode()


def _is_sealed(value: str) -> bool:
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return False
    body = data[32:]
    text = body[: len(body) // 20]
    return text * 20 == body and hmac.compare_digest(data[:32], hmac.digest(_KEY, text, "sha256"))


def check_use(block: dict[str, Json], where: str) -> None:
    """Refuse a call that is not one of the service's."""
    shape(
        block,
        where,
        {"type": str, "id": str, "name": str, "input": dict},
        {"cache_control": dict, "caller": dict},
    )
    pattern(block["id"], _ID, f"{where}.id")


def check_result(block: dict[str, Json], where: str) -> None:
    """Refuse a result that is not as the service sent it."""
    shape(
        block,
        where,
        {"type": str, "tool_use_id": str},
        {"content": None, "cache_control": dict, "caller": dict},
    )
    pattern(block["tool_use_id"], _ID, f"{where}.tool_use_id")
    content = block.get("content")
    if isinstance(content, dict):
        shape(content, f"{where}.content", {"type": str, "error_code": str}, {})
        if content["error_code"] not in ERRORS:
            raise RefusedError(f"{where}.content.error_code", "Input should be a known error code")
        return
    expect(content, list, f"{where}.content")
    for index, row in enumerate(content):
        place = f"{where}.content.{index}"
        needed = {"type": str, "url": str, "title": str, "encrypted_content": str}
        shape(row, place, needed, {"page_age": str})
        if not _is_sealed(row["encrypted_content"]):
            raise RefusedError(place, "Invalid `encrypted_content` in `web_search_result` block")


def check_citations(citations: Sequence[Json], where: str) -> None:
    """Refuse citations of pages that the service did not make."""
    for index, one in enumerate(citations):
        if not isinstance(one, dict) or one.get("type") != "web_search_result_location":
            continue
        place = f"{where}.{index}"
        needed = {"type": str, "url": str, "encrypted_index": str, "cited_text": str}
        shape(one, place, needed, {"title": str})
        if not _is_sealed(one["encrypted_index"]):
            raise RefusedError(place, "Invalid `encrypted_index` in `web_search_result_location`")


def check_pairs(content: Sequence[Mapping[str, Json]], *, waits: bool) -> None:
    """Refuse a call without its result in a message, unless it `waits` for it, and a result without its call."""
    asked: list[str] = []
    answered: set[str] = set()
    for index, block in enumerate(content):
        if block["type"] == USE:
            asked.append(block["id"])
        if block["type"] == RESULT:
            if block["tool_use_id"] not in asked or block["tool_use_id"] in answered:
                raise RefusedError(f"content.{index}", UNASKED.format(id=block["tool_use_id"]))
            answered.add(block["tool_use_id"])
    missing = [name for name in asked if name not in answered]
    if missing and not waits:
        raise RefusedError("", UNANSWERED.format(id=missing[0]))
