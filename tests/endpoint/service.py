"""What is answered to a request? Routing, the judge's verdict, the script's next reply, the usage.

`Service` keeps the record of everything; server.py puts it on a socket.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.endpoint.cache import PromptCache, Usage
from tests.endpoint.connection import Connection
from tests.endpoint.diagnosing import Diagnosing
from tests.endpoint.faults import (
    ERROR_TYPES,
    STATUS_OF,
    CloseBeforeResponse,
    DropKeepAlive,
    EchoKey,
    EndOfBody,
    ErrorEvent,
    Fault,
    HttpError,
    RawResponse,
)
from tests.endpoint.headers import api_key, check_headers
from tests.endpoint.http1 import HttpRequest
from tests.endpoint.judge import Accepted, Judge, Mode
from tests.endpoint.play import Released, Wire, play
from tests.endpoint.record import Recorded, Refusal
from tests.endpoint.response import Prompted, Response, respond, summarized
from tests.endpoint.rules import Rules
from tests.endpoint.script import Replayer, Reply
from tests.endpoint.shape import Json, RefusedError
from tests.endpoint.sse import error_json, events, message_bytes

MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"
MODELS = "/v1/models"


UNAVAILABLE = HttpError(
    529, body=error_json("overloaded_error", "Overloaded", code="compaction_unavailable").decode()
)
"""A summary that can't be made for the moment."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a service behaves, beside its script; see Endpoint."""

    rules: Rules = field(default_factory=Rules)
    judge: Mode = "incremental"
    cache_fields: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic


class Service:
    """Answers requests. `changed` is called when something was recorded, `stalled` where a Stall begins."""

    def __init__(
        self, settings: Settings, player: Replayer, changed: Callable[[Recorded], None], stalled: Released
    ):
        self.requests: list[Recorded] = []
        self.others: list[Recorded] = []
        self._settings = settings
        self._player = player
        self._changed = changed
        self._stalled = stalled
        self._judge = Judge(settings.rules, settings.judge)
        self._diagnosing = Diagnosing()
        self._cache = PromptCache(settings.rules, settings.clock)

    async def answer(self, connection: Connection, request: HttpRequest) -> None:
        """Judge, record and answer one request."""
        path = path_of(request)
        log = self.requests if is_message(request) else self.others
        seed = _seed(request, len(log))
        headers = {**self._settings.headers, "request-id": "req_011C" + hashlib.sha256(seed).hexdigest()[:20]}
        arrived = self._settings.clock()
        record = Recorded(len(log), request.method, path, request.headers, request.body, arrived)
        try:
            if log is self.requests:
                accepted = self._judge.judge(request)
            else:
                answer = self._other(request, path)
        except RefusedError as error:
            self._remember(log, replace(record, refusal=Refusal(error.status, error.kind, str(error))))
            body = error_json(error.kind, str(error), headers["request-id"], error.code).decode()
            await send_error(connection, HttpError(error.status, str(error), error.kind, body=body), headers)
            return
        if log is self.requests:
            await self._message(connection, record, accepted, headers, seed)
        else:
            self._remember(log, record)
            await send_whole(connection, 200, headers, json.dumps(answer).encode())

    def _remember(self, log: list[Recorded], record: Recorded) -> None:
        log.append(record)
        self._changed(record)

    def _other(self, request: HttpRequest, path: str) -> Json:
        """The answer to everything but POST /v1/messages; raises RefusedError."""
        if request.method == "POST" and path == COUNT_TOKENS:
            return {"input_tokens": self._judge.judge(request, counting=True).prompt.tokens}
        check_headers(request.headers, self._settings.rules)
        if request.method == "GET" and (path == MODELS or path.startswith(f"{MODELS}/")):
            return _models(self._settings.rules, path.removeprefix(MODELS).strip("/"))
        if path in (MESSAGES, COUNT_TOKENS, MODELS):
            raise RefusedError("", "Method Not Allowed", 405)
        raise RefusedError("", "Not Found", 404, "not_found_error")

    async def _message(
        self,
        connection: Connection,
        record: Recorded,
        accepted: Accepted,
        headers: dict[str, str],
        seed: bytes,
    ) -> None:
        unread = accepted.json is None and self._player.reads_requests
        rules = self._settings.rules
        if accepted.replaced and rules.summaries == "unavailable":
            reply = Reply(faults=UNAVAILABLE)
        elif accepted.replaced and rules.summaries == "empty":
            reply = Reply()
        else:
            reply = self._player.next(record.json if unread else accepted.json)
        headers |= reply.headers
        secret = api_key(record.headers)
        record = replace(record, parsed=accepted.json)
        instead = _in_place(reply.all_faults, accepted.stream)
        if instead is not None:
            self._remember(self.requests, record)
            await _send_instead(connection, instead, headers, secret)
            return
        settings = self._settings
        off = settings.judge == "off"
        usage = Usage(accepted.prompt.tokens) if off else self._cache.account(accepted.prompt)
        model, key = accepted.prompt.model, settings.rules.signing_key
        known = settings.rules.model(model)
        prompted = Prompted(
            seed,
            model,
            usage,
            settings.cache_fields,
            accepted.prefix,
            key,
            accepted.visible,
            known is not None and known.of_account,
            accepted.transformations,
            accepted.applied_edits,
        )
        response = respond(reply, prompted)
        if accepted.replaced:
            response = summarized(response, accepted.replaced, key)
        diagnosed = self._diagnosing.diagnose(accepted.json, response.message_id, accepted.prompt.tokens)
        response = replace(response, diagnostics=diagnosed)
        self._judge.replies.add(response.message_id, response.kinds(), response.calls())
        if response.stop_reason == "pause_turn":
            self._judge.replies.paused.append([dict(block.whole) for block in response.blocks])
            self._judge.replies.unfinished.add(response.message_id)
        self._remember(
            self.requests,
            replace(
                record,
                usage=usage,
                transformations=response.transformations or (),
                applied_edits=response.applied_edits or (),
            ),
        )
        cut = any(isinstance(fault, EndOfBody) for fault in reply.all_faults)
        wire, pieces = _framed(connection, response, accepted.stream, headers, cut)
        await play(connection, wire, pieces, reply.all_faults, reply.delay, self._stalled, secret)
        for fault in reply.all_faults:
            if isinstance(fault, DropKeepAlive):
                connection.drop(on_next_request=fault.when == "next_request")


def _seed(request: HttpRequest, index: int) -> bytes:
    """What a response's ids are made of: the request's number, length and both ends. A session's requests grow, so
    that no two of them agree in all; hashing a whole body would cost more than answering it."""
    ends = b"%d:%d:%b" % (index, len(request.body), request.path.encode())
    return hashlib.sha256(ends + request.body[:2048] + request.body[-4096:]).digest()


def path_of(request: HttpRequest) -> str:
    """The path without its query."""
    return request.path.partition("?")[0]


def is_message(request: HttpRequest) -> bool:
    """Whether this is POST /v1/messages."""
    return request.method == "POST" and path_of(request) == MESSAGES


def _models(rules: Rules, name: str) -> Json:
    """The list of models, or the one of this name."""
    listed = [
        {
            "type": "model",
            "id": model.id,
            "display_name": model.id.replace("-", " ").title(),
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": model.window,
            "max_tokens": model.max_output,
        }
        for model in (rules.model(known.id) or known for known in rules.models)
    ]
    if not name:
        ends = {"first_id": listed[0]["id"], "last_id": listed[-1]["id"]} if listed else {}
        return {"data": listed, "has_more": False, **ends}
    found = next((model for model in listed if model["id"] == name), None)
    if found is None:
        raise RefusedError("", f"model: {name}", 404, "not_found_error")
    return found


def _framed(
    connection: Connection, response: Response, stream: bool, headers: Mapping[str, str], cut: bool
) -> tuple[Wire, list[bytes]]:
    """The response as pieces of a body: its events, or the two halves of one JSON message. One that is to be cut in
    good order does not tell its length."""
    if stream:
        kind = {"content-type": "text/event-stream; charset=utf-8"}
        return Wire(connection, 200, {**kind, **headers}), events(response)
    body = message_bytes(response)
    half = len(body) // 2
    length = None if cut else len(body)
    wire = Wire(connection, 200, {"content-type": "application/json", **headers}, length)
    return wire, [body[:half], body[half:]]


def _in_place(faults: tuple[Fault, ...], stream: bool) -> Fault | None:
    """The fault that stands in place of the whole response."""
    for fault in faults:
        if isinstance(fault, ErrorEvent) and not stream:
            return HttpError(STATUS_OF.get(fault.type, 500), fault.message, fault.type)
        if isinstance(fault, EchoKey) and (fault.after is None or not stream):
            return fault
        if isinstance(fault, HttpError | RawResponse | CloseBeforeResponse):
            return fault
    return None


async def _send_instead(connection: Connection, fault: Fault, headers: Mapping[str, str], key: str) -> None:
    match fault:
        case HttpError():
            await send_error(connection, fault, headers)
        case EchoKey():
            await send_error(connection, HttpError(fault.status, f"invalid x-api-key: {key}"), headers)
        case CloseBeforeResponse(reset=True):
            connection.reset()
        case CloseBeforeResponse():
            connection.close()
        case RawResponse():
            length = len(fault.body) * fault.repeat
            wire = Wire(connection, fault.status, {**headers, **fault.headers}, length)
            for _ in range(fault.repeat):
                await wire.send([fault.body])
            await wire.finish()


async def send_error(connection: Connection, error: HttpError, headers: Mapping[str, str]) -> None:
    """Answer with an error status and the service's error object."""
    kind, message = ERROR_TYPES.get(error.status, ("api_error", "Error"))
    headers = {**headers, **error.headers}
    if error.retry_after is not None:
        headers = {"retry-after": str(error.retry_after), **headers}
    if error.body is None:
        body = error_json(error.type or kind, error.message or message, headers.get("request-id", ""))
    else:
        body = error.body.encode()
    await send_whole(connection, error.status, headers, body)


async def send_whole(connection: Connection, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Answer with a body of known length."""
    wire = Wire(connection, status, {"content-type": "application/json", **headers}, len(body))
    await wire.send([body])
    await wire.finish()
