"""Clients for the tests of the endpoint: raw HTTP over a socket, and the real SDK."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.endpoint.sample import HEADERS
from tests.endpoint.server import Endpoint

Sent = Callable[..., Awaitable[Any]]


class RawClient:
    """One keep-alive connection that shows the bytes as they come."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader = reader
        self.writer = writer

    def send(self, value: Any, path: str = "/v1/messages", **headers: str) -> None:
        """Send the POST of a body."""
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        names = {name.replace("_", "-"): text for name, text in headers.items()}
        sent = {"host": "x", **HEADERS, "content-length": str(len(raw)), **names}
        lines = "".join(f"{name}: {text}\r\n" for name, text in sent.items())
        self.writer.write(f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + raw)

    async def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers of the next response."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if line)
        return int(lines[0].split(" ")[1]), headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """The chunks of a body, up to the last."""
        while True:
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            data = (await self.reader.readexactly(size + 2))[:-2]
            if not size:
                return
            yield data

    async def body(self, headers: dict[str, str]) -> bytes:
        """The body of the response whose headers these are."""
        if "content-length" in headers:
            return await self.reader.readexactly(int(headers["content-length"]))
        return b"".join([chunk async for chunk in self.chunks()])

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        """The next response, whole."""
        status, headers = await self.head()
        return status, headers, await self.body(headers)

    async def close(self) -> None:
        """Leave."""
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except ConnectionError:  # the endpoint was told to break the connection off
            return


@asynccontextmanager
async def raw_client(endpoint: Endpoint) -> AsyncIterator[RawClient]:
    """A connection to the endpoint."""
    port = int(endpoint.base_url.rpartition(":")[2])
    client = RawClient(*await asyncio.open_connection("127.0.0.1", port))
    try:
        yield client
    finally:
        await client.close()


@pytest.fixture
def connect() -> Any:
    """Opens a raw connection: `async with connect(endpoint) as client`."""
    return raw_client


@pytest.fixture
def post_json() -> Sent:
    """Sends one body that is not streamed and gives the JSON of the answer: `await post_json(endpoint, body)`."""

    async def send(endpoint: Endpoint, value: Any) -> Any:
        async with raw_client(endpoint) as client:
            client.send(value)
            return json.loads((await client.response())[2])

    return send


@pytest.fixture
def sdk() -> Any:
    """Opens the real SDK on the endpoint: `async with sdk(endpoint) as client`."""
    import anthropic

    @asynccontextmanager
    async def open_client(endpoint: Endpoint, **options: Any) -> AsyncIterator[anthropic.AsyncAnthropic]:
        given = {"api_key": "sk-ant-secret", "base_url": endpoint.base_url, "max_retries": 0, **options}
        async with anthropic.AsyncAnthropic(**given) as client:
            yield client

    return open_client
