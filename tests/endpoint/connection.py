"""One TCP connection of a client: requests in, one answer after the other out, and every way to break it off.

The answer to a request runs as a task of its own, which is canceled when the client leaves.
"""

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from tests.endpoint.http1 import HttpRequest, MalformedHttpError, RequestParser, head
from tests.endpoint.sse import error_json

Answer: TypeAlias = Callable[["Connection", HttpRequest], Coroutine[Any, Any, None]]
Ended: TypeAlias = Callable[[HttpRequest, BaseException | None, bool], None]
Gone: TypeAlias = Callable[["Connection"], None]


class Connection(asyncio.Protocol):
    """`answer` is run for each request; `ended(request, failure, left)` is told when an answer is over: the
    exception that it died of, and whether the client had left; `gone` when the connection is."""

    def __init__(self, answer: Answer, ended: Ended, gone: Gone, body_limit: int):
        self._answer = answer
        self._ended = ended
        self._gone = gone
        self._parser = RequestParser(body_limit)
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._lost = False
        self._keep = True
        self._drop_next = False

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a stream transport is needed")
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._drop_next:
            self.reset()
            return
        self._parser.feed(data)
        self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._writable.set()
        if self._task is not None:
            self._task.cancel()
        self._gone(self)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # What an answer calls

    async def send(self, data: bytes) -> None:
        """Write, and wait while the client reads slower than we write."""
        if self._transport is not None and not self._lost:
            self._transport.write(data)
        if not self._writable.is_set():
            await self._writable.wait()

    def close(self) -> None:
        """Close after what was written has been sent."""
        self._keep = False
        if self._transport is not None:
            self._transport.close()

    def reset(self) -> None:
        """Break the connection off with a TCP reset."""
        self._keep = False
        if self._transport is not None:
            plug: socket.socket = self._transport.get_extra_info("socket")
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()

    def drop(self, on_next_request: bool) -> None:
        """Give up the kept-alive connection without a word: now, or when the next request comes in."""
        if on_next_request:
            self._drop_next = True
        else:
            self.close()

    async def shut_down(self) -> None:
        """End at once, whatever is under way."""
        self._keep = False
        if self._transport is not None:
            self._transport.abort()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    # One request after the other

    def _advance(self) -> None:
        if self._task is not None or not self._keep:
            return
        try:
            request = self._parser.next()
        except MalformedHttpError as error:
            self._refuse(str(error))
            return
        if request is not None:
            self._keep = request.keep_alive
            self._task = asyncio.get_running_loop().create_task(self._answer(self, request))
            self._task.add_done_callback(lambda task: self._done(task, request))
        elif self._parser.wants_continue and self._transport is not None:
            self._parser.wants_continue = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _done(self, task: asyncio.Task[None], request: HttpRequest) -> None:
        self._task = None
        failure = None if task.cancelled() else task.exception()
        self._ended(request, failure, task.cancelled())
        if failure is not None or not self._keep:
            self.close()
        else:
            self._advance()

    def _refuse(self, message: str) -> None:
        body = error_json("invalid_request_error", message)
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
        }
        if self._transport is not None:
            self._transport.write(head(400, headers) + body)
        self.close()
