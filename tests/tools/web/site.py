"""A web server on loopback that sends the bytes it is told to, and an access that reaches it under public names."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import httpx2

from prunecli.tools.web.access import Web

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(body: bytes | str, kind: str = "text/plain", status: str = "200 OK", *more: str) -> bytes:
    """The bytes of a response."""
    data = body.encode() if isinstance(body, str) else body
    kinds = [f"Content-Type: {kind}"] if kind else []
    head = [f"HTTP/1.1 {status}", *kinds, f"Content-Length: {len(data)}", "Connection: close", *more]
    return "\r\n".join([*head, "", ""]).encode() + data


def redirect(to: str, status: str = "302 Found") -> bytes:
    """A redirect."""
    return answer("", "", status, f"Location: {to}")


@dataclass
class Site:
    """The server. `heads` are the requests it got, `connected` the URLs that were connected to."""

    port: int
    heads: list[str] = field(default_factory=list)
    connected: list[str] = field(default_factory=list)
    sni: list[str] = field(default_factory=list)

    def web(self, names: Mapping[str, Sequence[str]] | None = None, **changes: object) -> Web:
        """An access that looks names up in a table; every connection leads to this server, without TLS."""
        table = names or {"public.example": ["93.184.216.34"]}
        looked_up: list[str] = []

        async def resolve(host: str, port: int) -> Sequence[str]:
            looked_up.append(host)
            if host not in table:
                raise OSError(-2, "Name or service not known")
            found = table[host]
            return found if looked_up.count(host) == 1 else ["127.0.0.1"]  # a name that moves after the check

        return replace(Web(resolve=resolve, transport=lambda *_: Leading(self)), **changes)  # type: ignore[arg-type]


class Leading(httpx2.AsyncBaseTransport):
    """Sends every request to the site, and notes where it was meant to go."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._real = httpx2.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._site.connected.append(str(request.url.copy_with(path="/", query=None)))
        self._site.sni.append(str(request.extensions.pop("sni_hostname", "")))
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._site.port)
        return await self._real.handle_async_request(request)

    async def aclose(self) -> None:
        await self._real.aclose()


@asynccontextmanager
async def serving(answers: Mapping[str, Answer]) -> AsyncIterator[Site]:
    """Serve these answers by path."""
    site = Site(0)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            site.heads.append(head)
            found = answers.get(head.split(" ")[1], answer("nothing here", status="404 Gone Fishing"))
            if isinstance(found, bytes):
                writer.write(found)
                await writer.drain()
            else:
                await found(writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
