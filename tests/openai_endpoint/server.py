"""The stand-in itself: both protocols of OpenAI on 127.0.0.1, as strict as the Messages one beside it.

    async with OpenAiEndpoint([Reply([Thinking("hm"), Call("read")]), HttpError(429), "Done."]) as endpoint:
        ...  # base URL: endpoint.api
    assert endpoint.rejected == []

Scripts, faults, recording and waiting are those of `tests.endpoint`. What is checked: `rules.py`; what is counted:
`cache.py`; what is sent: `replies.py`.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.endpoint.cache import Usage
from tests.endpoint.connection import Connection
from tests.endpoint.faults import DropKeepAlive, EchoKey, EndOfBody, ErrorEvent, Fault, HttpError
from tests.endpoint.http1 import HttpRequest
from tests.endpoint.play import Released, Wire, play
from tests.endpoint.record import Recorded, Refusal
from tests.endpoint.rules import Rules
from tests.endpoint.script import DEFAULT_REPLY, Item, Replayer, Script
from tests.endpoint.server import Endpoint
from tests.endpoint.service import _in_place, _send_instead, path_of, send_whole
from tests.endpoint.shape import RefusedError
from tests.openai_endpoint.cache import CHARS, Caches, PromptUsage
from tests.openai_endpoint.replies import Asked, chat_pieces, responses_pieces
from tests.openai_endpoint.rules import _EXPLICIT, CHAT, RESPONSES, Issued, OpenAiRules, check

TYPES = {
    401: "invalid_request_error",
    429: "requests",
    500: "server_error",
    503: "server_error",
    529: "server_error",
}
CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}


class OpenAiEndpoint(Endpoint):
    """A strict endpoint of both protocols. `rules` are those of `rules.py`; the other arguments are Endpoint's."""

    def __init__(
        self,
        script: Script = (),
        *,
        rules: OpenAiRules | None = None,
        default: Item = DEFAULT_REPLY,
        loop: bool = False,
        clock: Callable[[], float] = time.monotonic,
        port: int = 0,
    ):
        super().__init__(rules=Rules(body_limit=(rules or OpenAiRules()).body_limit), clock=clock, port=port)
        player = Replayer(script, default, loop)
        service = OpenAiService(rules or OpenAiRules(), player, clock, self._recorded, self._stall)
        self._service: Any = service

    @property
    def api(self) -> str:
        """The base URL, as OPENAI_BASE_URL takes it."""
        return f"{self.base_url}/v1"

    def _ended(self, request: HttpRequest, failure: BaseException | None, left: bool) -> None:
        if failure is not None:
            self._failures.append(failure)
        self.clients_left += left
        self.answered += request.method == "POST"
        self._barrier.changed()


class OpenAiService:
    """Answers requests: routing, the rules, the script's next reply, the usage."""

    def __init__(
        self,
        rules: OpenAiRules,
        player: Replayer,
        clock: Callable[[], float],
        changed: Callable[[Recorded], None],
        stalled: Released,
    ):
        self.requests: list[Recorded] = []
        self.others: list[Recorded] = []
        self.issued = Issued()
        self._rules, self._player, self._clock = rules, player, clock
        self._changed, self._stalled = changed, stalled
        self._caches = Caches(rules.cache_seconds, clock)

    async def answer(self, connection: Connection, request: HttpRequest) -> None:
        """Judge, record and answer one request."""
        path = path_of(request).removeprefix("/v1")
        posted = request.method == "POST" and path in (CHAT, RESPONSES)
        log = self.requests if posted else self.others
        record = Recorded(len(log), request.method, path, request.headers, request.body, self._clock())
        seed = hashlib.sha256(b"%d" % len(log) + request.body[-4096:]).digest()
        headers = {"x-request-id": "req_" + seed.hex()[:24]}
        try:
            self._check_key(request.headers)
            if not posted:
                self._remember(log, record)
                await send_whole(connection, 200, headers, json.dumps(self._other(request, path)).encode())
                return
            parsed, usage = self._judged(path, request.body)
            explicit = _EXPLICIT.match(parsed["model"]) is not None
            if usage.prompt > self._rules.window:
                text = f"Your input exceeds the context window of this model ({usage.prompt} tokens)."
                raise RefusedError("", text, 400, "invalid_request_error", "context_length_exceeded")
        except RefusedError as error:
            refusal = Refusal(error.status, error.kind, error.message)
            self._remember(log, replace(record, refusal=refusal))
            await send_whole(
                connection, error.status, headers, _error(error.message, error.kind, error.code, error.where)
            )
            return
        await self._reply(connection, replace(record, parsed=parsed), usage, headers, seed, explicit=explicit)

    def _judged(self, path: str, body: bytes) -> tuple[dict[str, Any], PromptUsage]:
        """The request, if it is taken, and its usage. Raises RefusedError."""
        if not self._rules.judged:
            tokens = -(-len(body) // CHARS)
            return {"model": "unread", "stream_options": {"include_usage": True}}, PromptUsage(
                tokens, tokens - 100
            )
        parsed = check(path, body, self._rules, self.issued)
        return parsed, self._caches.account(parsed, explicit=_EXPLICIT.match(parsed["model"]) is not None)

    async def _reply(
        self,
        connection: Connection,
        record: Recorded,
        usage: PromptUsage,
        headers: dict[str, str],
        seed: bytes,
        *,
        explicit: bool,
    ) -> None:
        request, reply = record.json, self._player.next(record.json)
        headers |= reply.headers
        key = record.headers.get("authorization", "").removeprefix("Bearer ")
        instead = _in_place(reply.all_faults, stream=True)
        if instead is not None:
            self._remember(self.requests, record)
            await _send_instead(connection, _worded(instead, key), headers, key)
            return
        wants = record.path == RESPONSES or (request.get("stream_options") or {}).get("include_usage")
        reported = usage if wants and self._rules.stream_usage else None
        asked = Asked(request["model"], seed, reported, explicit)
        chat = record.path == CHAT
        pieces = chat_pieces(reply, asked) if chat else responses_pieces(reply, asked, self.issued)
        fresh = usage.prompt - usage.read - usage.written
        self._remember(self.requests, replace(record, usage=Usage(fresh, usage.read, usage.written)))
        kind = {"content-type": "text/event-stream; charset=utf-8"}
        wire = Wire(connection, 200, {**kind, **headers})
        faults = [_event_of(fault, record.path) for fault in reply.all_faults]
        pieces, faults = _with_events(pieces, faults)
        await play(connection, wire, pieces, faults, reply.delay, self._stalled, key)
        for fault in reply.all_faults:
            if isinstance(fault, DropKeepAlive):
                connection.drop(on_next_request=fault.when == "next_request")

    def _remember(self, log: list[Recorded], record: Recorded) -> None:
        log.append(record)
        self._changed(record)

    def _check_key(self, headers: Mapping[str, str]) -> None:
        given = headers.get("authorization", "").removeprefix("Bearer ") or headers.get("api-key", "")
        if self._rules.key and given != self._rules.key:
            text = f"Incorrect API key provided: {given[:8]}"
            raise RefusedError("", text, 401, "invalid_request_error", "invalid_api_key")

    def _other(self, request: HttpRequest, path: str) -> Any:
        if request.method == "GET" and path == "/models":
            rows = [
                {"id": name, "object": "model", "created": 1, "owned_by": "test"}
                for name in self._rules.models
            ]
            return {"object": "list", "data": rows}
        raise RefusedError("", f"Invalid URL ({request.method} {path})", 404)


def _error(message: str, kind: str, code: str | None, param: str = "") -> bytes:
    return json.dumps(
        {"error": {"message": message, "type": kind, "param": param or None, "code": code or None}}
    ).encode()


def _worded(fault: Fault, key: str) -> Fault:
    """The fault with an error object of OpenAI's form."""
    if isinstance(fault, EchoKey):
        return HttpError(
            fault.status, body=_error(f"Incorrect API key: {key}", "x", "invalid_api_key").decode()
        )
    if not isinstance(fault, HttpError) or fault.body is not None:
        return fault
    kind = fault.type or TYPES.get(fault.status, "invalid_request_error")
    body = _error(fault.message or "An error", kind, CODES.get(fault.status))
    return replace(fault, body=body.decode())


def _event_of(fault: Fault, path: str) -> Any:
    """An error event in the form of the protocol, as a piece of the body."""
    if isinstance(fault, EchoKey):
        return fault.after, _error_piece(path, "invalid key", "server_error")
    if isinstance(fault, ErrorEvent):
        return fault.after, _error_piece(path, fault.message, fault.type)
    return fault


def _error_piece(path: str, message: str, kind: str) -> bytes:
    if path == CHAT:
        return b"data: " + _error(message, kind, None) + b"\n\n"
    event = {"type": "error", "code": kind, "message": message, "param": None, "sequence_number": 9}
    return f"event: error\ndata: {json.dumps(event)}\n\n".encode()


def _with_events(pieces: list[bytes], faults: list[Any]) -> tuple[list[bytes], list[Fault]]:
    """The pieces with the error events at their places, behind which the body ends."""
    for fault in faults:
        if isinstance(fault, tuple):
            after, piece = fault
            kept = [one for one in faults if not isinstance(one, tuple)]
            return [*pieces[:after], piece], [*kept, EndOfBody(min(after, len(pieces)) + 1)]
    return pieces, faults
