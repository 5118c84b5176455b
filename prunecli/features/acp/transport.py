"""JSON-RPC messages on two file descriptors, one per line.

The protocol library's own transport ignores invalid JSON, stops at a line that is not an object, and logs a
traceback. This transport answers with an error and continues.
"""

import asyncio
import json
import os
import threading
from queue import SimpleQueue
from typing import Any, TypeAlias

from prunecli.util.input_lines import MAX_LINE, InputLines, LineTooLong

Message: TypeAlias = dict[str, Any]
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
_CLOSE_SECONDS = 2.0


class StdioTransport:
    """A transport that reads messages from one descriptor and writes to another. It answers invalid lines with an
    error."""

    def __init__(self, source: int, target: int) -> None:
        self._lines = InputLines(source)
        self._target = target
        self._waiting: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._broken = asyncio.Event()
        self._writer = threading.Thread(target=self._write, name="output", daemon=True)
        self._writer.start()

    async def send(self, message: Message) -> None:
        """Write a message. If the editor is gone, the message is dropped and `receive` ends."""
        data = json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"
        written: asyncio.Future[None] = self._loop.create_future()
        self._waiting.put((data, written))
        await written

    async def receive(self) -> Message | None:
        """Return the next message; None once the editor has closed either stream."""
        while not self._broken.is_set():
            try:
                line = await self._line()
            except LineTooLong:
                await self._refuse(INVALID_REQUEST, f"Message longer than {MAX_LINE:,} bytes")
                continue
            if line is None:
                return None
            if line.strip() and (message := await self._parsed(line)) is not None:
                return message
        return None

    async def _line(self) -> bytes | None:
        """Return the next line; None at the end, or once the editor stops reading."""
        reading = asyncio.ensure_future(self._lines.next())
        broken = asyncio.ensure_future(self._broken.wait())
        try:
            await asyncio.wait({broken, reading}, return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else None
        finally:
            reading.cancel()
            broken.cancel()

    async def close(self) -> None:
        """Write queued messages, but only for a short time."""
        self._waiting.put(None)
        await asyncio.to_thread(self._writer.join, _CLOSE_SECONDS)

    async def _parsed(self, line: bytes) -> Message | None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            await self._refuse(PARSE_ERROR, "Parse error: not valid JSON")
            return None
        if not isinstance(message, dict):
            await self._refuse(INVALID_REQUEST, "Invalid request: expected one JSON object per line")
            return None
        id_, method = message.get("id"), message.get("method")
        answered = "result" in message or isinstance(message.get("error"), dict)
        answers = method is None and type(id_) is int and answered
        named = isinstance(id_, str | int | None) and not isinstance(id_, bool)
        if not (answers or (isinstance(method, str) and named)):
            await self._refuse(INVALID_REQUEST, "Invalid request", id_ if named else None)
            return None
        return message

    async def _refuse(self, code: int, why: str, id_: str | int | None = None) -> None:
        await self.send({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": why}})

    def _write(self) -> None:
        """Write queued messages in a thread, so that a slow editor cannot block the event loop."""
        failed = False
        while item := self._waiting.get():
            data, written = item
            left = memoryview(data)
            try:
                while left and not failed:
                    left = left[os.write(self._target, left) :]
            except OSError:
                failed = True
            try:
                self._loop.call_soon_threadsafe(self._written, written, failed)
            except RuntimeError:
                return  # the loop has ended

    def _written(self, written: "asyncio.Future[None]", failed: bool) -> None:
        if failed:
            self._broken.set()
        if not written.done():
            written.set_result(None)
