"""The proxy itself, an ASGI application: everything passes as it is, but for the body of `/v1/messages`.

If anything of the engine fails, the request goes through as it came, and one line says why.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from prunecli.features.proxy.answer import AnswerCopy
from prunecli.features.proxy.body import Incoming
from prunecli.features.proxy.conversation import Conversation
from prunecli.features.proxy.conversations import Conversations
from prunecli.util.errors import UsageError
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = lazy("httpx2")

Headers: TypeAlias = list[tuple[bytes, bytes]]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_OF_ONE_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade", b"host", b"content-length", b"expect"),
    }
)
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


def checked_upstream(url: str) -> str:
    """Return the address of the endpoint without a final slash. Raises UsageError unless it is https or on this
    machine, because the program's key goes there."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(
            f"--upstream: {one_line(url)} is not the address of an endpoint",
            "https://api.anthropic.com is one",
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise UsageError(
            f"--upstream: {one_line(url)} is not encrypted", "use https, or an endpoint on this machine"
        )
    return url.rstrip("/")


class Proxy:
    """The application for one endpoint. Only requests whose path begins with `/secret` are served.

    `say` gets one line about each thing that a user should know.
    """

    def __init__(
        self,
        upstream: str,
        secret: str,
        conversations: Conversations,
        client: "httpx2.AsyncClient",
        say: Callable[[str], None],
    ) -> None:
        self._upstream, self._secret, self._client, self._say = upstream, f"/{secret}/", client, say
        self._conversations = conversations

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers: Headers = list(scope["headers"])
        host = next((value for name, value in headers if name == b"host"), b"").decode("latin-1")
        path = scope["raw_path"].decode("latin-1")
        if not path.startswith(self._secret) or host.rpartition(":")[0] not in _LOOPBACK:
            await _refuse(send, HTTPStatus.NOT_FOUND, "not_found_error", "Not found")
            return
        query = scope["query_string"].decode("latin-1")
        rest = path.removeprefix(self._secret)
        url = f"{self._upstream}/{rest}" + (f"?{query}" if query else "")
        passed = [(name, value) for name, value in headers if name.lower() not in _OF_ONE_HOP]
        raw = await _whole(receive)
        if raw is None:
            return  # the program went away
        call = _Call(self, scope["method"], url, passed, send)
        exchange = asyncio.ensure_future(self._serve(call, rest, raw))
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({exchange, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not call.answered:  # afterwards, the answer is still recorded
                exchange.cancel()
            await asyncio.gather(exchange, gone, return_exceptions=True)
        if not exchange.cancelled() and (error := exchange.exception()):
            raise error

    async def _serve(self, call: "_Call", rest: str, raw: bytes) -> None:
        if call.method != "POST" or not rest.endswith(("messages", "messages/count_tokens")):
            await call.pass_on(raw)
        elif rest.endswith("count_tokens"):
            await call.pass_on(await self._counted(raw))
        else:
            await self._answer(call, raw)

    async def _answer(self, call: "_Call", raw: bytes) -> None:
        request, conversation = await self._found(raw)
        if request is None or conversation is None:
            await call.pass_on(raw)
            return
        async with conversation.turn:
            body = self._pruned(conversation, request)
            if body is None:
                await call.pass_on(raw, lambda *refused: conversation.thoughtless(request, *refused))
                return
            copy = await call.pass_on(body, lambda *refused: self._instead(conversation, request, *refused))
            conversation.answered(copy.response() if copy else None)
        await conversation.commit()

    async def _found(self, raw: bytes) -> tuple[Incoming | None, Conversation | None]:
        try:
            request = self._conversations.read(raw)
            return request, await self._conversations.of(request)
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not cost the program its answer
            self._say(f"A request passed unpruned: {one_line(str(error) or type(error).__name__)}")
            return None, None

    def _pruned(self, conversation: Conversation, request: Incoming) -> bytes | None:
        """Return the body to send, None for the program's own."""
        try:
            return None if conversation.off else conversation.send(request)
        except Exception as error:  # noqa: BLE001  # as above
            self._leave_alone(conversation, request, str(error) or type(error).__name__)
            return None

    async def _counted(self, raw: bytes) -> bytes:
        try:
            request = self._conversations.read(raw)
            conversation = self._conversations.known(request)
            return conversation.preview(request) if conversation else raw
        except Exception:  # noqa: BLE001  # a count of the unpruned request is then the answer
            return raw

    def _instead(
        self, conversation: Conversation, request: Incoming, body: bytes, answer: bytes
    ) -> bytes | None:
        """Return what to send in place of a body that the endpoint refused, None for nothing."""
        with suppress(Exception):  # it must not cost the program its answer
            if mended := conversation.mended(request, answer):
                return mended
        if body is request.raw:
            return None
        self._leave_alone(conversation, request, f"the endpoint refused a pruned request: {_message(answer)}")
        return request.raw

    def _leave_alone(self, conversation: Conversation, request: Incoming, why: str) -> None:
        conversation.leave(why, request)
        self._say(f"No longer pruned: {one_line(why)}")

    async def opened(self, method: str, url: str, headers: Headers, body: bytes) -> "httpx2.Response":
        """Send a request to the endpoint. Raises httpx2.HTTPError."""
        request = self._client.build_request(method, url, headers=headers, content=body)
        return await self._client.send(request, stream=True)


class _Call:
    """One request of the program, and the way to answer it."""

    def __init__(self, proxy: Proxy, method: str, url: str, headers: Headers, send: Send) -> None:
        self.method, self.answered = method, False
        self._proxy, self._url, self._headers, self._send = proxy, url, headers, send

    async def pass_on(
        self, body: bytes, instead: Callable[[bytes, bytes], bytes | None] | None = None
    ) -> AnswerCopy | None:
        """Send a body to the endpoint and its answer to the program. With `instead`, return a copy of a good answer.

        If the endpoint refuses a body, `instead` gets both and returns what is sent in its place, None for nothing.
        """
        headers = self._headers
        if instead is not None:  # the copy is read, so it must not be compressed
            headers = [(name, value) for name, value in headers if name.lower() != b"accept-encoding"]
            headers.append((b"accept-encoding", b"identity"))
        try:
            response = await self._proxy.opened(self.method, self._url, headers, body)
            refusal: bytes | None = None
            while instead is not None and response.status_code == HTTPStatus.BAD_REQUEST:
                refusal = b"".join([piece async for piece in response.aiter_raw()])
                if (another := instead(body, refusal)) is None:
                    break
                body, refusal = another, None
                response = await self._proxy.opened(self.method, self._url, headers, body)
        except httpx2.HTTPError as error:
            why = f"prunecli proxy: {error or type(error).__name__}"
            await _refuse(self._send, HTTPStatus.BAD_GATEWAY, "api_error", why)
            return None
        try:
            return await self._answer(response, refusal, keep=instead is not None)
        finally:
            await response.aclose()

    async def _answer(
        self, response: "httpx2.Response", read: bytes | None, *, keep: bool
    ) -> AnswerCopy | None:
        good = keep and response.status_code == HTTPStatus.OK
        streamed = "event-stream" in response.headers.get("content-type", "")
        copy = AnswerCopy(streamed=streamed) if good else None
        headers = [
            pair for pair in response.headers.raw if pair[0].lower() not in _OF_ONE_HOP - {b"content-length"}
        ]
        await self._send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        async with aclosing(response.aiter_raw() if read is None else _once(read)) as pieces:
            async for piece in pieces:
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
                if copy:
                    copy.feed(piece)
        self.answered = True
        await self._send({"type": "http.response.body", "body": b""})
        return copy


async def _whole(receive: Receive) -> bytes | None:
    """Return the body of a request, None if the program went away before its end."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


async def _once(data: bytes) -> AsyncGenerator[bytes, None]:
    yield data


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode("utf-8", "replace")


async def _refuse(send: Send, status: HTTPStatus, kind: str, message: str) -> None:
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": body})
