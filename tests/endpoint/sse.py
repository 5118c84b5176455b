"""What bytes is a response? As server-sent events, or as one JSON message, as an error."""

import json
from collections.abc import Iterator, Mapping

from tests.endpoint.response import Response
from tests.endpoint.shape import Json

PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def message_bytes(response: Response) -> bytes:
    """The body of a response that is not streamed."""
    return _json(response.message())


def events(response: Response) -> list[bytes]:
    """The events of a streamed response, each with its empty line."""
    return list(_events(response))


def event(name: str, data: Mapping[str, Json] | str) -> bytes:
    """One event; `data` as text is taken as it is."""
    text = data.encode() if isinstance(data, str) else _json(data)
    return b"event: %b\ndata: %b\n\n" % (name.encode(), text)


def error_event(kind: str, message: str) -> bytes:
    """An `error` event of the stream."""
    return event("error", {"type": "error", "error": {"type": kind, "message": message}})


def error_json(kind: str, message: str, request_id: str = "", code: str = "") -> bytes:
    """The service's error object; `code` is the one in its details."""
    details = {"details": {"error_code": code}} if code else {}
    value: dict[str, Json] = {"type": "error", "error": {"type": kind, "message": message, **details}}
    if request_id:
        value["request_id"] = request_id
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _events(response: Response) -> Iterator[bytes]:
    opening = {**response.message(), "content": [], "stop_reason": None, "stop_sequence": None}
    opening.pop("context_management", None)  # only the last event has it
    if "output_tokens" in response.usage:
        late = ("output_tokens_details", "iterations")
        first = {name: value for name, value in response.usage.items() if name not in late}
        opening["usage"] = {**first, "output_tokens": 1}
    yield event("message_start", {"type": "message_start", "message": opening})
    for index, block in enumerate(response.blocks):
        start = {"type": "content_block_start", "index": index, "content_block": block.start}
        yield event("content_block_start", start)
        if index == 0 and response.pings:
            yield PING
        front = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":' % index
        for delta in block.deltas:
            yield b"%b%b}\n\n" % (front, _json(delta))
        yield event("content_block_stop", {"type": "content_block_stop", "index": index})
    ending = {"stop_reason": response.stop_reason, "stop_sequence": response.stop_sequence}
    said = ("output_tokens_details", "iterations")
    usage = {name: value for name, value in response.usage.items() if isinstance(value, int) or name in said}
    last = {"type": "message_delta", "delta": ending, "usage": usage, **response.management()}
    yield event("message_delta", last)
    yield event("message_stop", {"type": "message_stop"})


def _json(value: Json) -> bytes:
    """Compact JSON as UTF-8; with escapes where half a surrogate pair is inside."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
