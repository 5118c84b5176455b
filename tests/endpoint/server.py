"""The endpoint itself: a strict Messages API on 127.0.0.1, for a test's own event loop or in a thread.

async with Endpoint(["Hello.", HttpError(529)]) as endpoint: ...
with serve([Reply(Call("read", {"path": "a"}))]) as endpoint: ...
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.endpoint.connection import Connection
from tests.endpoint.http1 import HttpRequest
from tests.endpoint.judge import Mode
from tests.endpoint.record import DEADLINE, Barrier, Recorded
from tests.endpoint.rules import Rules
from tests.endpoint.script import DEFAULT_REPLY, Item, Replayer, Script
from tests.endpoint.service import Service, Settings, is_message

T = TypeVar("T")


class Endpoint:
    """A strict Messages API; README.md says what is checked.

    `script` and `default` are what the model says (script.py); `loop` starts the script over at its end. `judge`:
    "incremental" (reads again only what is new since the last request), "full" (the same verdicts, read from the
    first byte) or "off" (accepts everything unread).
    `cache_fields` off leaves the cache out of every usage; `headers` go with every response; `clock` gives the
    seconds by which the prompt cache forgets.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        rules: Rules | None = None,
        judge: Mode = "incremental",
        default: Item = DEFAULT_REPLY,
        loop: bool = False,
        cache_fields: bool = True,
        headers: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        port: int = 0,
    ):
        self.rules = rules or Rules()
        self.connections = 0
        """TCP connections accepted so far."""
        self.answered = 0
        """Responses to POST /v1/messages that are over, whatever their end was."""
        self.clients_left = 0
        """Responses during which the client went away."""
        self.stalls = 0
        """Stalls reached so far."""
        settings = Settings(self.rules, judge, cache_fields, dict(headers or {}), clock)
        self._barrier = Barrier()
        player = Replayer(script, default, loop)
        self._service = Service(settings, player, self._recorded, self._stall)
        self._listeners: list[Callable[[Recorded], object]] = []
        self._port = port
        self._stalled: list[asyncio.Future[None]] = []
        self._credit = 0
        self._open: set[Connection] = set()
        self._failures: list[BaseException] = []
        self._server: asyncio.Server | None = None
        self._event_loop: asyncio.AbstractEventLoop | None = None

    # Life

    async def __aenter__(self) -> Self:
        self._event_loop = asyncio.get_running_loop()
        self._server = await self._event_loop.create_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for connection in list(self._open):
            await connection.shut_down()
        if self._failures and error is None:
            raise self._failures[0]
        for failure in self._failures:
            if error is not None:
                error.add_note(f"the endpoint's script raised {failure!r}")

    @property
    def base_url(self) -> str:
        """http://127.0.0.1:PORT, as ANTHROPIC_BASE_URL takes it."""
        return f"http://127.0.0.1:{self._port}"

    # What a test asks

    @property
    def requests(self) -> list[Recorded]:
        """Every POST /v1/messages, in order of arrival."""
        return self._service.requests

    @property
    def others(self) -> list[Recorded]:
        """Every other request: models, count_tokens, unknown paths."""
        return self._service.others

    @property
    def rejected(self) -> list[Recorded]:
        """The requests that the judge refused; scripted errors are none of them."""
        return [request for request in [*self.requests, *self.others] if request.refusal is not None]

    def cacheable(self, index: int) -> int:
        """Tokens of request `index` (from 0) that any earlier one had as its prefix: the most a cache could give."""
        usage = self.requests[index].usage
        return 0 if usage is None else usage.reusable

    def cache_hits(self) -> float:
        """Tokens read from the cache, as a share of what the transcripts would have allowed; 1.0 if nothing."""
        usages = [request.usage for request in self.requests if request.usage is not None]
        allowed = sum(usage.reusable for usage in usages)
        return sum(usage.cache_read_input_tokens for usage in usages) / allowed if allowed else 1.0

    def on_record(self, listener: Callable[[Recorded], object]) -> None:
        """Call `listener` with every request once it was judged, before it is answered."""
        self._listeners.append(listener)

    # What a test waits for

    async def request_arrived(self, n: int, within: float = DEADLINE) -> Recorded:
        """The n-th POST /v1/messages (from 1), once it has arrived and was judged."""
        await self._until(lambda: len(self.requests) >= n, f"request {n}", within)
        return self.requests[n - 1]

    async def response_ended(self, n: int, within: float = DEADLINE) -> None:
        """Wait until n responses to POST /v1/messages are over, complete or not."""
        await self._until(lambda: self.answered >= n, f"end of response {n}", within)

    async def stall_reached(self, n: int = 1, within: float = DEADLINE) -> None:
        """Wait until the n-th Stall of the script has begun."""
        await self._until(lambda: self.stalls >= n, f"stall {n}", within)

    async def client_left(self, n: int = 1, within: float = DEADLINE) -> None:
        """Wait until n responses were left by their client."""
        await self._until(lambda: self.clients_left >= n, f"departure {n}", within)

    def release(self, n: int = 1) -> None:
        """Let n stalls go on, the oldest first; those still to come do not stall. Works from any thread."""
        if self._event_loop is None or self._event_loop is _running_loop():
            self._release(n)
        else:
            self._event_loop.call_soon_threadsafe(self._release, n)

    def blocking(self, waiting: Coroutine[Any, Any, T]) -> T:
        """From another thread: `endpoint.blocking(endpoint.request_arrived(2))`."""
        if self._event_loop is None:
            waiting.close()
            raise RuntimeError("the endpoint is not running: enter it first")
        return asyncio.run_coroutine_threadsafe(waiting, self._event_loop).result()

    # Inside

    async def _until(self, condition: Callable[[], bool], what: str, within: float) -> None:
        await self._barrier.until(condition, lambda: f"{what}; {self._state()}", within)

    def _state(self) -> str:
        refused = [request.refusal.message for request in self.rejected if request.refusal is not None]
        counts = f"{len(self.requests)} requests, {self.answered} answered, {self.stalls} stalls"
        return f"{counts}, {self.clients_left} clients left; refused: {refused}"

    def _recorded(self, request: Recorded) -> None:
        for listener in self._listeners:
            listener(request)
        self._barrier.changed()

    def _release(self, n: int) -> None:
        for _ in range(n):
            self._stalled = [future for future in self._stalled if not future.done()]
            if self._stalled:
                self._stalled.pop(0).set_result(None)
            else:
                self._credit += 1

    def _stall(self) -> "asyncio.Future[None]":
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._credit:
            self._credit -= 1
            future.set_result(None)
        else:
            self._stalled.append(future)
        self.stalls += 1
        self._barrier.changed()
        return future

    def _accept(self) -> Connection:
        self.connections += 1
        connection = Connection(self._service.answer, self._ended, self._open.discard, self.rules.body_limit)
        self._open.add(connection)
        return connection

    def _ended(self, request: HttpRequest, failure: BaseException | None, left: bool) -> None:
        if failure is not None:
            self._failures.append(failure)
        self.clients_left += left
        self.answered += is_message(request)
        self._barrier.changed()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@contextmanager
def serve(script: Script = (), **options: Any) -> Iterator[Endpoint]:
    """An endpoint in a thread of its own, for synchronous tests; the options are those of Endpoint."""
    endpoint = Endpoint(script, **options)
    running: Future[Callable[[], object]] = Future()

    async def run() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        async with endpoint:
            running.set_result(lambda: loop.call_soon_threadsafe(stop.set))
            await stop.wait()

    with ThreadPoolExecutor(1, "endpoint") as pool:
        ended = pool.submit(asyncio.run, run())
        both: tuple[Future[Any], Future[Any]] = (running, ended)
        wait(both, return_when=FIRST_COMPLETED)
        if not running.done():
            ended.result()  # it could not listen
        try:
            yield endpoint
        finally:
            running.result()()
            ended.result()
