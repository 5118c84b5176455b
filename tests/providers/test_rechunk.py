"""Chunks are joined, and nothing else changes: what the parser behind reads is the same as without."""

from types import SimpleNamespace
from typing import Any

import h11
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.providers.messages_api import AnthropicProvider, Endpoint
from prunecli.providers.rechunk import Rechunker, _Backend, join_chunks

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nTransfer-Encoding: Chunked\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def chunked(pieces: list[bytes]) -> bytes:
    return HEAD + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def fed(data: bytes, cuts: list[int]) -> list[bytes]:
    """What comes out when the data arrives cut at these places."""
    rechunker, out, start = Rechunker(), [], 0
    for stop in [*sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]:
        out.append(rechunker.feed(data[start:stop]))
        start = stop
    return [*out, rechunker.rest()]


def bodies(received: bytes, count: int) -> list[bytes]:
    """The bodies of so many responses, as h11 reads them; raises for what is no HTTP."""
    client, found = h11.Connection(h11.CLIENT), []
    client.receive_data(received)
    for _ in range(count):
        client.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
        client.send(h11.EndOfMessage())
        body = b""
        while not isinstance(event := client.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                raise ValueError("cut off")
            body += bytes(event.data) if isinstance(event, h11.Data) else b""
        found.append(body)
        client.start_next_cycle()
    return found


PIECES = st.lists(st.binary(min_size=1, max_size=40), max_size=12)


@given(PIECES, PIECES, st.lists(st.integers(1, 900), max_size=30))
def test_bodies_are_the_same_however_they_are_cut(
    first: list[bytes], second: list[bytes], cuts: list[int]
) -> None:
    data = chunked(first) + PLAIN + chunked(second)
    out = b"".join(fed(data, cuts))
    assert bodies(out, 3) == [b"".join(first), b"hello", b"".join(second)]


def test_what_arrives_at_once_leaves_as_one_chunk() -> None:
    out = fed(chunked([b"data: %d\n\n" % number for number in range(1_000)]), [])[0]
    assert out.startswith(HEAD)
    size, _, _ = out[len(HEAD) :].partition(b"\r\n")
    assert int(size, 16) == sum(len(b"data: %d\n\n" % number) for number in range(1_000))


def test_half_a_chunk_is_passed_on_at_once() -> None:
    assert fed(HEAD + b"a\r\nhalf", [])[0] == HEAD + b"4\r\nhalf\r\n"


@pytest.mark.parametrize(
    "broken", [b"zz\r\nnot a chunk", b"-5\r\nabcde\r\n", b"5\r\nabcdeXX5\r\n", b"\r\n\r\n"]
)
@pytest.mark.parametrize("cuts", [[], list(range(1, 2_500, 3))])
def test_what_is_no_chunk_goes_through_for_the_parser_to_refuse(broken: bytes, cuts: list[int]) -> None:
    """A broken chunk ends the answer with an error, as without joining."""
    out = b"".join(fed(HEAD + b"3\r\nabc\r\n" + broken, cuts))
    with pytest.raises(h11.RemoteProtocolError):
        bodies(out, 1)


@given(st.binary(max_size=300), st.lists(st.integers(1, 300), max_size=20))
def test_bytes_that_are_no_http_go_through_as_they_are(data: bytes, cuts: list[int]) -> None:
    if b"\r\n\r\n" not in data:
        assert b"".join(fed(data, cuts)) == data


def test_informational_heads_chunk_extensions_and_trailers_are_left_alone() -> None:
    data = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + HEAD + b"3;a=b\r\nabc\r\n0\r\nx: y\r\n\r\n"
    assert b"".join(fed(data, [])) == data


async def test_the_provider_s_connections_join_their_chunks() -> None:
    """The private names of the HTTP library that this hangs on are still there."""
    provider = AnthropicProvider(Endpoint(api_key="sk-ant-x", base_url="http://127.0.0.1:9"))
    provider.warm()
    transport = provider._ready()._client._transport
    assert isinstance(transport, httpx2.AsyncHTTPTransport)
    assert isinstance(transport._pool._network_backend, _Backend)
    await provider.close()


class Connection:
    """A connection of a later version of the HTTP library: it has a method that nobody knew."""

    def __init__(self, received: list[bytes]) -> None:
        self.received, self.sent, self.closed = received, b"", False

    async def read(self, max_bytes: int, **options: Any) -> bytes:
        return self.received.pop(0) if self.received else b""

    async def write(self, data: bytes, **options: Any) -> None:
        self.sent += data

    async def write_many(self, parts: list[bytes]) -> None:
        self.sent += b"".join(parts)

    async def aclose(self) -> None:
        self.closed = True


class Backend:
    """Opens such connections, also in a way that nobody knew."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def connect_tcp(self, host: str, port: int) -> Connection:
        return self.connection

    async def connect_quic(self, host: str, port: int) -> Connection:
        return self.connection


async def test_methods_that_a_later_http_library_adds_are_still_there() -> None:
    connection = Connection([chunked([b"a", b"b"])])
    transport: Any = SimpleNamespace(_pool=SimpleNamespace(_network_backend=Backend(connection)))
    join_chunks(transport)
    backend = transport._pool._network_backend
    assert await backend.connect_quic("host", 443) is connection
    stream = await backend.connect_tcp("host", 443)
    await stream.write(b"one ")
    await stream.write_many([b"two ", b"three"])
    assert await stream.read(1_000) == HEAD + b"2\r\nab\r\n0\r\n\r\n"
    await stream.aclose()
    assert (connection.sent, connection.closed) == (b"one two three", True)
    assert not hasattr(stream, "no_such_method")


class Fixed:
    """A pool whose backend can be read only."""

    _network_backend = property(lambda self: "the library's own")


@pytest.mark.parametrize(
    "moved",
    [
        SimpleNamespace(),
        SimpleNamespace(_pool=None),
        SimpleNamespace(_pool=SimpleNamespace()),
        SimpleNamespace(_pool=SimpleNamespace(_network_backend=None)),
        SimpleNamespace(_pool=Fixed()),
    ],
)
def test_where_the_private_names_have_moved_nothing_is_touched(moved: Any) -> None:
    pool = getattr(moved, "_pool", None)
    before = getattr(pool, "_network_backend", None)
    join_chunks(moved)
    assert getattr(pool, "_network_backend", None) is before


def test_what_comes_before_a_response_goes_through_as_it_comes() -> None:
    """A SOCKS proxy answers twice before the first response."""
    rechunker = Rechunker()
    assert rechunker.feed(b"\x05\x00") == b"\x05\x00"
    assert rechunker.feed(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00").endswith(b"\x00\x00")
    assert rechunker.feed(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").endswith(b"\r\n\r\nok")
