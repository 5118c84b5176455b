"""The provider for Anthropic's Messages API and all compatible servers: Anthropic, Ollama, llama.cpp, ...

Bodies, errors and the event stream are its own; `wire.py` has the connections. They are made shortly before the first
request (`warm`), because the import takes a tenth of a second. `HttpProvider` is what a provider of another protocol
shares with it: the connections, the patience, and the response, once its events are translated.
"""

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from prunecli.model.codec import foreign_object, is_count
from prunecli.model.messages import Json
from prunecli.model.requests import Request
from prunecli.providers.failures import MAX_ERROR_BYTES, Failures
from prunecli.providers.model_list import DETAILS, page_of, with_details
from prunecli.providers.models import Offer
from prunecli.providers.network import DIRECT, Route
from prunecli.providers.other_wires import for_messages
from prunecli.providers.provider import Response, StreamEvent, joined
from prunecli.providers.registry import Transport
from prunecli.providers.response_reader import LOCAL_PATIENCE, EventReader, Patience
from prunecli.providers.stream import Assembly
from prunecli.providers.wire import Endpoint, Wire, connected
from prunecli.util.errors import BadRequest, ConnectionLost, ProviderError
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = lazy("httpx2")


_MESSAGES = "/v1/messages"
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


class Translation(Protocol):
    """Translates one response of another protocol into events of the Messages API."""

    def events(self, event: Json) -> Iterable[Json]:
        """Return the events that one event means. Raises ValueError if it breaks the protocol."""

    def ended(self) -> Iterable[Json]:
        """Return the events that the end of the body means; none if the response was cut off."""


class HttpProvider:
    """A `Provider` (provider.py) that posts requests and reads event streams. A subclass knows the protocol."""

    def __init__(self, failures: Failures, patience: Patience, now: Callable[[], float] = time.time) -> None:
        self._failures = failures
        self._patience = patience
        self._now = now
        self._warming = threading.Lock()
        self._wire: Wire | None = None
        self._closed = False
        self._kept_alive = False

    def warm(self) -> None:
        """Make the connections, so that the next request can be sent at once.

        Takes 0.1 s of CPU the first time. May run in a thread, even while a request does the same.
        """
        with suppress(ProviderError):  # the request tells
            self._ready()

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """See `Provider.stream`. The request is sent again only if a kept-alive connection was dropped."""
        reader, translation = await self._asked(request)
        try:
            await reader.refuse_other_content()
            assembly = Assembly(_new_tool_id, reader.request_id)
            clock = asyncio.get_running_loop().time
            resumed = clock()
            while not assembly.complete:
                events = await reader.batch()
                if translation is not None:
                    events = self._translated(translation, events)
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

    async def _asked(self, request: Request) -> tuple[EventReader, Translation | None]:
        """Send a request. Return a reader of the response, and its translation if it needs one."""
        raise NotImplementedError

    def _connect(self) -> Wire:
        """Make the connections. Imports the library."""
        raise NotImplementedError

    def _told(self, response: Response, request: Request) -> Response:  # noqa: ARG002  # a subclass needs it
        """Return the response as it is recorded."""
        return response

    def _translated(self, translation: Translation, events: Sequence[Json] | None) -> list[Json] | None:
        """Return the events of the Messages API; None if the body ended too early."""
        try:
            if events is None:
                return list(translation.ended()) or None
            return [one for event in events for one in translation.events(event)]
        except ValueError as error:
            raise self._failures.cut(f"a malformed answer: {error}") from error

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

    async def close(self) -> None:
        self._closed = True
        wire, self._wire = self._wire, None
        if wire is not None:
            await wire.close()

    def _ready(self) -> Wire:
        with self._warming:
            if self._wire is None:
                self._wire = self._connect()
            return self._wire

    async def _open(
        self, path: str, body: bytes | None = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> EventReader:
        """Send a request and return a reader of the successful response. Uses POST with a body, GET without one."""
        if self._closed:
            raise self._failures.cut("the provider was closed")
        wire = await asyncio.to_thread(self._ready) if self._wire is None else self._wire
        try:
            response = await self._attempt(wire, path, body, headers)
        except _DroppedWhileIdle:
            response = await self._attempt(wire, path, body, headers)
        reader = EventReader(response, self._failures, self._patience)
        if not response.is_success:
            await self._refuse(reader, response, optional=body is None or path == _COUNT)
        return reader

    async def _attempt(
        self, wire: Wire, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> "httpx2.Response":
        handled = sys.exception()
        kept_alive, self._kept_alive = self._kept_alive, False
        patience = self._patience.first + len(body or b"") / _SLOWEST_UPLOAD
        try:
            async with asyncio.timeout(patience):
                return await wire.send(path, body, dict(headers))
        except TimeoutError as error:
            raise self._failures.cut(f"no answer for {patience:.0f} s") from error
        except httpx2.HTTPError as error:
            if kept_alive and isinstance(
                error, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError
            ):
                raise _DroppedWhileIdle("the idle connection was closed") from error
            raise self._failures.lost(error, handled) from error

    async def _refuse(self, reader: EventReader, response: "httpx2.Response", *, optional: bool) -> None:
        """Raise the error of an unsuccessful response; `_NotOffered` if an optional path is unknown."""
        try:
            body = await reader.whole(MAX_ERROR_BYTES)
        finally:
            await reader.close()
        error = self._failures.refused(response.status_code, response.headers, body, self._now())
        if optional and response.status_code in (404, 405, 501):
            raise _NotOffered(error.message) from error
        raise error


class AnthropicProvider(HttpProvider):
    """The provider of the Messages API. `route` is the way to the endpoint, and `transport` the library that takes it
    (the SDK finds its own way). `signed` makes the connections to a cloud that signs requests, given the seconds to
    connect in."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        patience: Patience | None = None,
        route: Route = DIRECT,
        transport: Transport = "http",
        now: Callable[[], float] = time.time,
        signed: Callable[[float], Wire] | None = None,
    ) -> None:
        patience = patience or (Patience() if endpoint.is_anthropic else LOCAL_PATIENCE)
        super().__init__(Failures(endpoint.base_url, endpoint.secrets, route), patience, now)
        self._endpoint = endpoint
        self._route = route
        self._transport = transport
        self._signed = signed

    async def _asked(self, request: Request) -> tuple[EventReader, None]:
        betas = {"anthropic-beta": ",".join(request.betas)} if request.betas else {}
        return await self._open(_MESSAGES, for_messages(request).body(), betas), None

    def _connect(self) -> Wire:
        if self._signed is not None:
            return self._signed(self._patience.connect)
        return connected(self._endpoint, self._route, self._patience.connect, self._transport)

    def _told(self, response: Response, request: Request) -> Response:
        """Return the response with the true stop reason. When translating to OpenAI's Responses API, LiteLLM reports
        a reply cut by its limit as finished."""
        cut = response.stop_reason == "end_turn" and response.usage.output_tokens >= request.max_tokens
        return (
            replace(response, stop_reason="max_tokens")
            if cut and not self._endpoint.is_anthropic
            else response
        )

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
            found.update((model.name, model) for model in page.models)
            last, asks_details = page.last, page.may_have_details
            if not last or len(found) == before:  # a server that ignores after_id repeats itself
                break
        if found and asks_details and not self._endpoint.is_anthropic:
            with suppress(ProviderError):  # the list is usable without details
                found = with_details(found, await self._get(DETAILS) or b"")
        return tuple(found.values())

    async def count(self, request: Request) -> int | None:
        """Return the prompt tokens of a request, counted by the endpoint for free; None if it has no such method.

        Raises a ProviderError."""
        fields = json.loads(for_messages(request).body())
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


class _DroppedWhileIdle(ConnectionLost):
    """The server closed a kept-alive connection before it got the request; one more attempt may work."""


class _NotOffered(BadRequest):
    """The endpoint does not know the requested path."""


def _new_tool_id() -> str:
    return f"toolu_{os.urandom(16).hex()}"
