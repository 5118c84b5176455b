"""Reads the events of an open response in batches, and detects silence.

The bytes come from httpx2, often one event in each chunk. A task collects the chunks that have arrived, because
passing one on costs more than its event. Every wait has a limit, and little is read in advance.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

from prunecli.model.messages import Json
from prunecli.providers.failures import MAX_ERROR_BYTES, Failures
from prunecli.providers.sse import EventDecoder, ServerEvent
from prunecli.util.errors import ProviderError
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = lazy("httpx2")


_HEAD_BYTES = 2_000
_MOST_AT_ONCE = 65_536
"""Bytes to return before the event loop can get a turn. Compressed chunks may be much larger."""
_AHEAD = 24_576
"""Bytes to collect before the event loop gets a turn, so that keys work: two milliseconds."""
_FIELDS = (b"event:", b"data:", b"id:", b"retry:", b":")
_LEFTOVER_SECONDS = 0.2
_KNOWN = frozenset(
    (
        "",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    )
)
END: Json = {"type": "[DONE]"}
"""The end of a stream of another dialect, as an event that the Messages API does not have."""
_decode = json.JSONDecoder().raw_decode
_T = TypeVar("_T")


@frozen
class Patience:
    """The seconds to wait before a connection is considered lost.

    `connect` applies to opening a connection, `first` to the response and again to its first event, `silence` to the
    time between events, including pings, and `pings` to a stretch of pings only.
    """

    connect: float = 10.0
    first: float = 90.0
    silence: float = 60.0
    pings: float = 600.0


LOCAL_PATIENCE = Patience(first=600.0, silence=120.0, pings=3600.0)
"""The limits for servers other than Anthropic's. They send no pings, or only pings while they read a long prompt,
which takes minutes on a CPU."""


class EventReader:
    """A reader of one response. Every method raises a `ProviderError` if the connection breaks or falls silent.

    OpenAI's protocols end a stream with `[DONE]`, which becomes `END`.
    """

    def __init__(self, response: "httpx2.Response", failures: Failures, patience: Patience) -> None:
        self._response = response
        self._failures = failures
        self._patience = patience
        self._arrived = bytearray()
        self._change = asyncio.Event()
        self._collecting = asyncio.ensure_future(self._collect())
        self._collecting.add_done_callback(lambda _: self._change.set())
        self._decoder = EventDecoder()
        self._silence = _SilenceWatch()
        self._head = b""
        self._handled = sys.exception()
        self._heard = False
        self._last_event = self._silence.now()

    @property
    def request_id(self) -> str:
        """The endpoint's id of the request, or ""."""
        headers = self._response.headers
        return str(headers.get("request-id") or headers.get("x-request-id") or "")[:200]

    async def refuse_other_content(self) -> None:
        """Raise an error for a successful response that is not an event stream, such as a page or a JSON object."""
        kind = self._response.headers.get("content-type", "")
        if "json" in kind or "html" in kind:
            raise self._failures.no_stream(kind, await self.whole(MAX_ERROR_BYTES))

    async def batch(self) -> list[Json] | None:
        """Return the events completed by the next bytes, without pings; None at the end of the body."""
        chunk = await self._next(self._patience.silence if self._heard else self._patience.first)
        if chunk is None:
            return None
        if not self._heard:
            self._head = (self._head + chunk)[:_HEAD_BYTES]
        try:
            heard = self._decoder.feed(chunk)
        except ValueError as error:
            raise self._failures.cut(f"a malformed answer: {error}") from error
        events = [value for event in heard if (value := self._value(event)) is not None]
        if events:
            self._last_event = self._silence.now()
        elif self._silence.now() - self._last_event > self._patience.pings:
            raise self._failures.cut(f"nothing but pings for {self._patience.pings:.0f} s")
        self._heard = self._heard or bool(heard)
        return events

    async def whole(self, limit: int) -> bytes:
        """Return the first `limit` bytes of the body, read within `silence` seconds; the rest is never fetched."""
        pieces: list[bytes] = []
        length, deadline = 0, self._silence.now() + self._patience.silence
        while length < limit and (chunk := await self._next(deadline - self._silence.now())) is not None:
            pieces.append(chunk)
            length += len(chunk)
        return b"".join(pieces)[:limit]

    async def finish(self) -> bool:
        """Read the bytes after the last event; return whether the connection can be reused."""
        deadline = self._silence.now() + _LEFTOVER_SECONDS
        try:
            while (rest := deadline - self._silence.now()) > 0:
                if await self._next(rest) is None:
                    return True
        except ProviderError:
            pass  # the answer is already complete
        return False

    def ended_early(self) -> ProviderError:
        """Return the error for a body that ended before the message, or before any event."""
        begun = self._head.lstrip().partition(b"\n")[0]
        if not begun and not self._heard:
            return self._failures.cut("an empty answer")
        if self._heard or any(begun.startswith(field) or field.startswith(begun) for field in _FIELDS):
            return self._failures.cut("the answer was cut off")
        return self._failures.no_stream(self._response.headers.get("content-type", ""), self._head)

    async def close(self) -> None:
        """Release the connection, which is reused if the body was read to its end."""
        self._silence.stop()
        self._collecting.cancel()
        try:
            await asyncio.gather(self._collecting, return_exceptions=True)
        finally:
            await self._response.aclose()

    async def _collect(self) -> None:
        """Add all chunks to `_arrived` as they come, and wait while too much is there."""
        async with aclosing(self._response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                self._arrived += chunk
                self._change.set()
                while len(self._arrived) >= _AHEAD:
                    await self._until_change()

    async def _until_change(self) -> None:
        """Wait until bytes arrived, were taken, or will not come. Only one side waits at a time."""
        self._change.clear()
        await self._change.wait()

    async def _next(self, seconds: float) -> bytes | None:
        """Return what has arrived, or wait this many seconds for more; None at the end of the body."""
        try:
            while not self._arrived:
                if self._collecting.done():
                    self._collecting.result()
                    return None
                await self._silence.at_most(seconds, self._until_change())
        except TimeoutError as error:
            raise self._failures.cut(f"nothing received for {seconds:.0f} s") from error
        except httpx2.HTTPError as error:
            raise self._failures.lost(error, self._handled) from error
        taken = bytes(self._arrived[:_MOST_AT_ONCE])
        del self._arrived[:_MOST_AT_ONCE]
        self._change.set()
        return taken

    def _value(self, event: ServerEvent) -> Json | None:
        """Return the event's object; None for a ping or an unknown event without JSON."""
        name, data = event
        if name == "ping":
            return None
        try:
            value, _ = _decode(data)
        except (ValueError, RecursionError) as error:
            return self._other_value(event, error)
        if isinstance(value, dict):
            if name == "error" or "type" not in value:
                value["type"] = name
            elif value["type"] == "ping":
                return None
        return value

    def _other_value(self, event: ServerEvent, error: ValueError | RecursionError) -> Json | None:
        data = event.data.strip()
        if event.name == "error":
            return {"type": "error", "error": {"message": data}}
        if data == "[DONE]":
            return END
        if not data or event.name not in _KNOWN:
            return None
        raise self._failures.cut("a malformed answer: an event that is not JSON") from error


class _SilenceWatch:
    """A time limit for many short waits, with one timer that is set again only when it fires. asyncio.timeout would
    take 0.13 s of CPU more in a flood of 25,000 pieces, which take 0.17 s to read."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        self._deadline = 0.0
        self._waiting: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._expired = False

    async def at_most(self, seconds: float, awaited: Awaitable[_T]) -> _T:
        """Await something for at most this many seconds. After that, cancel it and raise TimeoutError."""
        self._deadline = self.now() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self.stop()
            self._timer = self._loop.call_at(self._deadline, self._check)
        task = self._waiting = asyncio.current_task()
        before = task.cancelling() if task else 0
        try:
            return await awaited
        except asyncio.CancelledError:
            if self._expired and task and task.uncancel() <= before:
                raise TimeoutError from None
            raise
        finally:
            self._waiting = None

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if self.now() >= self._deadline:
            self._expired = True
            self._waiting.cancel()
        else:
            self._timer = self._loop.call_at(self._deadline, self._check)
