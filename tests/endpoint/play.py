"""How does a response go over the wire? The events in order, each fault at its place.

`Wire` frames what is written (chunks, or a body of known length); `play` is the sequence.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from tests.endpoint.connection import Connection
from tests.endpoint.faults import (
    BrokenChunk,
    Close,
    Drip,
    EchoKey,
    EndOfBody,
    ErrorEvent,
    Fault,
    Insert,
    Reset,
    Stall,
)
from tests.endpoint.http1 import chunk, head
from tests.endpoint.sse import PING, error_event, event

JOINED = 64 * 1024
"""Bytes that go into one write when nothing asks for more of them."""

Released = Callable[[], "asyncio.Future[None]"]


class Wire:
    """Writes one response: the head with the first bytes, then the body, in chunks when its length is unknown."""

    def __init__(
        self, connection: Connection, status: int, headers: Mapping[str, str], length: int | None = None
    ):
        self._connection = connection
        self._chunked = length is None
        framing = {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}
        self._head = head(status, {**headers, **framing})
        self.drip: Drip | None = None

    async def start(self) -> None:
        """Send the head by itself, if it is still to be sent."""
        if self._head:
            await self._write(b"")

    async def send(self, pieces: Sequence[bytes]) -> None:
        """Send pieces of the body, one chunk each."""
        if self.drip is not None:
            await self._drip(b"".join(pieces), self.drip)
            return
        ready: list[bytes] = []
        size = 0
        for piece in pieces:
            ready.append(chunk(piece) if self._chunked else piece)
            size += len(piece)
            if size >= JOINED:
                await self._write(b"".join(ready))
                ready, size = [], 0
        if ready:
            await self._write(b"".join(ready))

    async def finish(self) -> None:
        """The end of a whole body."""
        await self._write(b"0\r\n\r\n" if self._chunked else b"")

    async def break_chunk(self) -> None:
        """Something that is no chunk; a body of known length is cut short."""
        await self._write(b"zz\r\nnot a chunk" if self._chunked else b"")
        self._connection.close()

    async def _drip(self, body: bytes, drip: Drip) -> None:
        for at in range(0, len(body), drip.size):
            piece = body[at : at + drip.size]
            await self._write(chunk(piece) if self._chunked else piece)
            await asyncio.sleep(drip.delay)

    async def _write(self, data: bytes) -> None:
        first, self._head = self._head, b""
        if first or data:
            await self._connection.send(first + data)


async def play(
    connection: Connection,
    wire: Wire,
    pieces: Sequence[bytes],
    faults: Sequence[Fault],
    delay: float,
    stalled: Released,
    key: str,
) -> None:
    """Send the pieces of a body (events, or the parts of a JSON message) with the faults at their places.

    `stalled` is called where a Stall begins and gives the future that ends it; `key` is echoed by an EchoKey.
    """
    wire.drip = next((fault for fault in faults if isinstance(fault, Drip)), None)
    places: dict[int, list[Fault]] = {}
    for fault in faults:
        after = getattr(fault, "after", None)
        if after is not None:
            places.setdefault(min(max(0, after), len(pieces)), []).append(fault)
    sent = 0
    for place in sorted(places):
        await _send(wire, pieces[sent:place], delay)
        sent = place
        for fault in places[place]:
            if await _happen(connection, wire, fault, stalled, key):
                return
    await _send(wire, pieces[sent:], delay)
    await wire.finish()


async def _send(wire: Wire, pieces: Sequence[bytes], delay: float) -> None:
    if not delay:
        await wire.send(pieces)
        return
    for piece in pieces:
        await wire.send([piece])
        await asyncio.sleep(delay)


async def _happen(connection: Connection, wire: Wire, fault: Fault, stalled: Released, key: str) -> bool:
    """Let a fault happen; whether it ends the response."""
    match fault:
        case Insert():
            await wire.send([event(fault.event, fault.data)])
            return False
        case Stall():
            if not fault.before_headers:
                await wire.start()
            await _stall(wire, stalled(), fault.ping_every)
            return False
        case ErrorEvent():
            await wire.send([error_event(fault.type, fault.message)])
            await wire.finish()
        case EchoKey():
            await wire.send([error_event("authentication_error", f"invalid x-api-key: {key}")])
            await wire.finish()
        case EndOfBody():
            await wire.finish()
        case BrokenChunk():
            await wire.break_chunk()
        case Close():
            await wire.start()
            connection.close()
        case Reset():
            await wire.start()
            connection.reset()
    return True


async def _stall(wire: Wire, released: "asyncio.Future[None]", ping_every: float | None) -> None:
    while ping_every is not None and not released.done():
        await wire.send([PING])
        await asyncio.wait([released], timeout=ping_every)
    await released
