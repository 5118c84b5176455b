"""The transport of a server behind a URL: streamable HTTP or its older form (SSE), with limits on the data read."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.oauth import of_login
from prunecli.features.mcp.stdio import MAX_MESSAGE

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

CONNECT_SECONDS = 20.0


@asynccontextmanager
async def http_transport(
    definition: Definition, *, auth: httpx2.Auth | None, answered: Callable[[int], None]
) -> AsyncGenerator["TransportStreams", None]:
    """Connect and yield the streams. `answered` is called with the status of each response of the server itself."""

    async def check(response: httpx2.Response) -> None:
        if auth is None or not of_login(response.request):
            answered(response.status_code)
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _bounded(httpx2, response.stream)

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = auth,
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers={**definition.headers, **(headers or {})},
            timeout=timeout or httpx2.Timeout(CONNECT_SECONDS, read=None),
            auth=auth,
            event_hooks={"response": [check]},
        )

    async with AsyncExitStack() as stack:
        if definition.transport == "sse":
            old = sse_client(definition.url, auth=auth, httpx_client_factory=client)
            yield await stack.enter_async_context(old)
        else:
            opened = await stack.enter_async_context(client())
            new = streamable_http_client(definition.url, http_client=opened, max_sse_event_size=MAX_MESSAGE)
            yield await stack.enter_async_context(new)


def _bounded(httpx2: Any, stream: Any) -> Any:
    """Return a stream that fails once it exceeds the limit of a message."""

    class Bounded(httpx2.AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            length = 0
            async for chunk in stream:
                length += len(chunk)
                if length > MAX_MESSAGE:
                    raise httpx2.StreamError(f"the answer is longer than {MAX_MESSAGE // 1_000_000} MB")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()
