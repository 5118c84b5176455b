"""The provider for Anthropic's Messages API and all compatible servers: Anthropic, Ollama, llama.cpp, ...

It uses the anthropic SDK for addresses, headers and connections, and reads the raw bytes of the event stream itself.
The SDK is imported shortly before the first request (`warm`), because the import takes 0.2 s even with
lazy_import.py.
"""

import asyncio
import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

from prunecli.errors import BadRequest, ConfigError, ConnectionLost, ProviderError
from prunecli.frozen import frozen
from prunecli.model.codec import foreign_object, is_count
from prunecli.model.messages import Json
from prunecli.model.requests import Request
from prunecli.providers import lazy_import
from prunecli.providers.failures import MAX_ERROR_BYTES, Failures
from prunecli.providers.model_list import DETAILS, page_of, with_details
from prunecli.providers.models import Offer
from prunecli.providers.network import DIRECT, Route
from prunecli.providers.provider import Response, StreamEvent, joined
from prunecli.providers.rechunk import join_chunks
from prunecli.providers.response_reader import LOCAL_PATIENCE, EventReader, Patience
from prunecli.providers.stream import Assembly
from prunecli.sanitize import without_password

if TYPE_CHECKING:
    import ssl

    import httpx2
    from anthropic import AsyncAnthropic

DEFAULT_BASE_URL = "https://api.anthropic.com"

_FUNCTION_MODULES = ("anthropic._error_classes", "anthropic.lib._tracing._api_call")
"""Modules that the SDK needs only for typed errors and tracing, and that import 700 others."""

_COUNT = "/v1/messages/count_tokens"
_MAX_LIST_BYTES = 16_000_000
_MAX_PAGES = 10
_SLOWEST_UPLOAD = 100_000
"""The slowest expected upload in bytes per second. The wait for an answer is extended by the time of such an
upload."""

_MAX_STEP = 0.001
"""Seconds of work after which the event loop gets a turn, so that keys work during a flood of events."""

_PORTION = 100
"""Events to process at once: less than half a millisecond of work."""

_ANTHROPIC = re.compile(r"(?:[a-z0-9-]+\.)*anthropic\.com")


@frozen
class Endpoint:
    """The address and the credential: the key takes precedence over the token; a local server may need neither.

    Raises ConfigError for a base_url that is not an http(s) address, and for a key that is not valid in a header.
    """

    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    base_url: str = DEFAULT_BASE_URL

    def __post_init__(self) -> None:
        for name, secret in (("ANTHROPIC_API_KEY", self.api_key), ("ANTHROPIC_AUTH_TOKEN", self.auth_token)):
            if not all("!" <= char <= "~" for char in secret or ""):
                raise ConfigError(f"{name}: contains a character that no API key has", "copy the key again")
        try:
            parts = urlsplit(self.base_url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ConfigError(
                f"base_url: {without_password(self.base_url)!r} is not an http(s) address",
                f"for example {DEFAULT_BASE_URL}",
            )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets that no message may repeat."""
        return tuple(secret for secret in (self.api_key, self.auth_token) if secret)

    @property
    def is_anthropic(self) -> bool:
        """Whether the address is Anthropic's own."""
        return bool(_ANTHROPIC.fullmatch(urlsplit(self.base_url).hostname or ""))


class AnthropicProvider:
    """A `Provider` (provider.py). Reads nothing from the environment except the switch of lazy_import.py.

    `route` is the way to the endpoint.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        patience: Patience | None = None,
        route: Route = DIRECT,
        environ: Mapping[str, str] = os.environ,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._endpoint = endpoint
        self._patience = patience or (Patience() if endpoint.is_anthropic else LOCAL_PATIENCE)
        self._route = route
        self._environ = environ
        self._now = now
        self._failures = Failures(endpoint.base_url, endpoint.secrets, route)
        self._warming = threading.Lock()
        self._client: AsyncAnthropic | None = None
        self._closed = False
        self._kept_alive = False

    def warm(self) -> None:
        """Import the SDK and create its client, so that the next request can be sent at once.

        Takes 0.2 to 0.4 s of CPU the first time. May run in a thread, even while a request does the same.
        """
        self._ready()

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`. The request is sent again only if a kept-alive connection was dropped."""
        reader = await self._open("/v1/messages", request.body(), request.betas)
        try:
            await reader.refuse_other_content()
            assembly = Assembly(_new_tool_id, reader.request_id)
            clock = asyncio.get_running_loop().time
            resumed = clock()
            while not assembly.complete:
                events = await reader.batch()
                if events is None:
                    raise reader.ended_early()
                for portion in self._portions(assembly, events):
                    for delta in portion:
                        yield delta
                    if clock() - resumed > _MAX_STEP:
                        await asyncio.sleep(0)
                        resumed = clock()
            self._kept_alive = await reader.finish()
        finally:
            await reader.close()
        yield self._told(assembly.response(), request)

    def _told(self, response: Response, request: Request) -> Response:
        """Return the response with the true stop reason. When translating to OpenAI's Responses API, LiteLLM reports
        a reply cut by its limit as finished."""
        cut = response.stop_reason == "end_turn" and response.usage.output_tokens >= request.max_tokens
        return (
            replace(response, stop_reason="max_tokens")
            if cut and not self._endpoint.is_anthropic
            else response
        )

    def _portions(self, assembly: Assembly, events: Sequence[Json]) -> Iterator[list[StreamEvent]]:
        """Yield the deltas of some events, a few at a time so that the event loop gets its turn (also where there
        are none), with deltas of the same text joined. Raises a ProviderError after the deltas that precede it."""
        failure: ProviderError | None = None
        for start in range(0, len(events) or 1, _PORTION):
            deltas: list[StreamEvent] = []
            for event in events[start : start + _PORTION]:
                try:
                    deltas += self._fed(assembly, event)
                except ProviderError as error:
                    failure = error
                if failure or assembly.complete:
                    break
            yield joined(deltas)
            if failure:
                raise failure
            if assembly.complete:
                return

    def _fed(self, assembly: Assembly, event: Json) -> list[StreamEvent]:
        if type(event) is dict and event.get("type") == "error":
            raise self._failures.event(event)
        try:
            return assembly.feed(event)
        except ValueError as error:
            raise self._failures.cut(f"a malformed answer: {error}") from error

    async def models(self) -> tuple[Offer, ...]:
        """See `Provider.models`. Requests page after page. Returns () if the endpoint has no such list."""
        found, last, asks_details = dict[str, Offer](), "", False
        for _ in range(_MAX_PAGES):
            after = f"&after_id={quote(last, safe='')}" if last else ""
            body = await self._get(f"/v1/models?limit=1000{after}")
            if body is None:
                break
            page = page_of(body)
            before = len(found)
            found.update((one.name, one) for one in page.models)
            last, asks_details = page.last, page.may_have_details
            if not last or len(found) == before:  # a server that ignores after_id repeats itself
                break
        if found and asks_details and not self._endpoint.is_anthropic:
            with suppress(ProviderError):  # the list is usable without details
                found = with_details(found, await self._get(DETAILS) or b"")
        return tuple(found.values())

    async def _get(self, path: str) -> bytes | None:
        """Return the answer to a GET request; None if the endpoint does not have this path."""
        try:
            reader = await self._open(path)
        except _NotOffered:
            return None
        try:
            return await reader.whole(_MAX_LIST_BYTES)
        finally:
            await reader.close()

    async def count(self, request: Request) -> int | None:
        """Return the prompt tokens of a request, counted by the endpoint for free; None if it has no such method.

        Raises a ProviderError."""
        fields = json.loads(request.body())
        kept = {key: fields[key] for key in ("model", "messages", "system", "tools") if fields[key]}
        try:
            reader = await self._open(_COUNT, json.dumps(kept).encode())
        except _NotOffered:
            return None
        try:
            tokens = foreign_object(await reader.whole(MAX_ERROR_BYTES)).get("input_tokens")
        finally:
            await reader.close()
        return tokens if is_count(tokens) else None

    async def close(self) -> None:
        """See `Provider.close`."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _ready(self) -> "AsyncAnthropic":
        with self._warming:
            if self._client is None:
                self._client = self._new_client()
            return self._client

    async def _open(self, path: str, body: bytes | None = None, betas: tuple[str, ...] = ()) -> EventReader:
        """Send a request and return a reader of the successful response. Uses POST with a body, GET without one."""
        if self._closed:
            raise self._failures.cut("the provider was closed")
        client = await asyncio.to_thread(self._ready) if self._client is None else self._client
        try:
            response = await self._attempt(client, path, body, betas)
        except _DroppedWhileIdle:
            response = await self._attempt(client, path, body, betas)
        return EventReader(response, self._failures, self._patience)

    async def _attempt(
        self, client: "AsyncAnthropic", path: str, body: bytes | None, betas: tuple[str, ...]
    ) -> "httpx2.Response":
        import httpx2
        from anthropic import APIConnectionError, AsyncStream

        handled = sys.exception()
        kept_alive, self._kept_alive = self._kept_alive, False
        raw: Any = {"cast_to": httpx2.Response, "stream": True, "stream_cls": AsyncStream[object]}
        if betas:
            raw["options"] = {"headers": {"anthropic-beta": ",".join(betas)}}
        patience = self._patience.first + len(body or b"") / _SLOWEST_UPLOAD
        try:
            async with asyncio.timeout(patience):
                if body is None:
                    response = await client.get(path, **raw)
                else:
                    response = await client.post(path, content=body, **raw)
        except TimeoutError as error:
            raise self._failures.cut(f"no answer for {patience:.0f} s") from error
        except APIConnectionError as error:
            broken = httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError
            if kept_alive and isinstance(error.__cause__, broken):
                raise _DroppedWhileIdle("the idle connection was closed") from error
            raise self._failures.lost(error, handled) from error
        found: httpx2.Response = response
        return found

    async def _refuse(self, request: Any, proceed: Callable[[Any], Awaitable[Any]]) -> Any:
        """Raise prunecli's error for an unsuccessful response. This is middleware for the SDK.

        The SDK would read the body without a limit and import 700 modules for its own error.
        """
        answer = await proceed(request)
        response: httpx2.Response = getattr(answer, "http_response", answer)
        if response.is_success:
            return answer
        reader = EventReader(response, self._failures, self._patience)
        try:
            body = await reader.whole(MAX_ERROR_BYTES)
        finally:
            await reader.close()
        error = self._failures.refused(response.status_code, response.headers, body, self._now())
        optional = request.method == "get" or str(request.url).endswith(_COUNT)
        if optional and response.status_code in (404, 405, 501):
            raise _NotOffered(error.message) from error
        raise error

    def _new_client(self) -> "AsyncAnthropic":
        if lazy_import.wanted(self._environ):
            lazy_import.install(["anthropic"], _FUNCTION_MODULES)
        import anthropic
        import httpx2

        given = self._endpoint
        headers: dict[str, Any] = {
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
        }
        if not given.secrets:
            headers["Authorization"] = anthropic.Omit()
        if not given.is_anthropic:
            headers["anthropic-version"] = "2023-06-01"  # the one that all other servers know
            if given.api_key:
                headers["x-api-key"] = given.api_key  # here too; the SDK would send it as a bearer token
                headers["Authorization"] = anthropic.Omit()  # one credential only
        transport = httpx2.AsyncHTTPTransport(
            verify=self._tls(),
            trust_env=False,
            limits=httpx2.Limits(max_connections=20, max_keepalive_connections=4, keepalive_expiry=90.0),
            proxy=self._route.proxy or None,
            socket_options=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
        )
        join_chunks(transport)
        client = anthropic.AsyncAnthropic(
            api_key=given.api_key or None,
            auth_token=None if given.api_key else given.auth_token or "",
            base_url=given.base_url,
            max_retries=0,
            timeout=httpx2.Timeout(None, connect=self._patience.connect),
            open_telemetry=False,
            middleware=[self._refuse],
            default_headers=headers,
            http_client=httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=False),
        )
        # The SDK adds ANTHROPIC_CUSTOM_HEADERS from the environment to the given headers, so the sum is replaced. The
        # attribute is private: an SDK without it still sends the headers given above.
        client._custom_headers = headers
        return client

    def _tls(self) -> "ssl.SSLContext | bool":
        """Return the TLS context, only for https addresses, because loading the certificates takes time."""
        if urlsplit(self._endpoint.base_url).scheme != "https":
            return False
        import ssl

        if self._route.ca_file:
            return ssl.create_default_context(cafile=self._route.ca_file)
        return True


class _DroppedWhileIdle(ConnectionLost):
    """The server closed a kept-alive connection before it got the request; one more attempt may work."""


class _NotOffered(BadRequest):
    """The endpoint does not know the requested path."""


def _new_tool_id() -> str:
    return f"toolu_{uuid4().hex}"
