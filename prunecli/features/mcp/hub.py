"""All servers of a session, in a separate thread with its own event loop.

So neither a server nor the SDK can block the screen. The thread starts with `begin` and imports the SDK first. Other
threads may read `servers` at any time; their requests are passed to the thread as coroutines.
"""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from prunecli.features.mcp.quiet import keep_quiet
from prunecli.features.mcp.server_state import Offer, Server, State, Wanted, World
from prunecli.model.messages import Block, Json, plain_text
from prunecli.plugins.app import resolved
from prunecli.tools.tool import ToolOutput
from prunecli.util.errors import ToolError

if TYPE_CHECKING:
    from prunecli.features.mcp.connection import Connection

CONNECTION = "prunecli.features.mcp.connection:Connection"
"""Imported in the hub's thread, together with the SDK."""
MISSING = "the package mcp is missing; install prunecli again"
PATIENCE = 30.0
"""Seconds that a request waits for a server that is starting."""
SETTLE_SECONDS = 10.0
"""Seconds that a search waits for servers that are starting."""
CLOSE_SECONDS = 8.0
NO_QUESTIONS = "server-initiated requests"
"""Part of the error of the Python SDK and FastMCP for a question that the newest protocol cannot send."""

T = TypeVar("T")


class Hub:
    """The servers. `changed` is called in the hub's thread after each change; `load` imports the SDK."""

    def __init__(
        self,
        world: World,
        changed: Callable[[], None] = lambda: None,
        load: Callable[[], None] | None = None,
    ) -> None:
        self._world = world
        self._changed = changed
        self._load = load or _load_sdk
        self._wanted: dict[str, Wanted] = {}
        self._shown: dict[str, Server] = {}
        self._running: dict[str, tuple[Connection, asyncio.Task[None]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._problem = ""
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._lock = threading.Lock()

    # For other threads ---------------------------------------------------------------------------------------

    @property
    def begun(self) -> bool:
        """Whether the thread runs, so that wanted servers are started."""
        return self._thread is not None

    @property
    def servers(self) -> tuple[Server, ...]:
        """The current state of all configured servers, sorted by name."""
        running, shown = dict(self._running), dict(self._shown)
        found = {name: running[name][0].server if name in running else one for name, one in shown.items()}
        return tuple(found[name] for name in sorted(found))

    def use(self, wanted: Sequence[Wanted]) -> None:
        """Run exactly these servers: start new and changed ones, and end removed and held ones."""
        new = {one.definition.name: one for one in wanted}
        with self._lock:
            before, self._wanted = self._wanted, new
            for name in [*before, *new]:
                if new.get(name) != before.get(name):
                    self._show(name)
                    self._submit(self._apply, name)

    def begin(self) -> None:
        """Start the servers in the background. Does nothing without servers or if called again."""
        with self._lock:
            if self._thread is None and any(one.held is None for one in self._wanted.values()):
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="mcp", daemon=True)
                self._thread.start()

    def check(self, server: str, tool: str) -> None:
        """Raise ToolError if a call to this tool cannot succeed now. A call waits for a server that is starting, and
        reconnects a lost one."""
        found = self._found(server)
        if found.state == "connected" and all(tool != one.name for one in found.offer.tools):
            raise ToolError(f"The server {server} has no tool {tool!r}. Use mcp_search to find tools.")
        if found.state not in ("connected", "starting") and not found.offer.tools:
            raise _unavailable(found)

    def _found(self, name: str) -> Server:
        shown = {server.name: server for server in self.servers}
        if name not in shown:
            known = ", ".join(shown) or "none"
            raise ToolError(f"There is no MCP server {name!r}. Servers: {known}.")
        return shown[name]

    def restart(self, name: str) -> None:
        """Connect again, regardless of the state."""
        self._submit(self._apply, name)

    def send(self, request: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run a request in the hub's thread. Raises ToolError if no server was ever started."""
        if self._loop is None or self._loop.is_closed():
            request.close()
            raise ToolError("No MCP server is running.")
        return asyncio.run_coroutine_threadsafe(request, self._loop)

    async def ask(self, request: Coroutine[Any, Any, T]) -> T:
        """Run a request from a coroutine of another thread. Canceling it cancels the request."""
        return await asyncio.wrap_future(self.send(request))

    def close(self) -> None:
        """End all servers. Waits for at most a few seconds."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        with self._lock:
            self._wanted = {}
        if thread.is_alive():
            loop.call_soon_threadsafe(loop.stop)
            thread.join(CLOSE_SECONDS)

    # Requests, in the hub's thread ---------------------------------------------------------------------------

    async def settled(self, seconds: float = SETTLE_SECONDS) -> None:
        """Wait until no server is starting, for at most this many seconds."""
        waits = [asyncio.ensure_future(one.settled.wait()) for one, _ in self._running.values()]
        try:
            if waits:
                await asyncio.wait(waits, timeout=seconds)
        finally:
            for wait in waits:
                wait.cancel()

    async def call(
        self, server: str, tool: str, arguments: Mapping[str, Json], progress: Callable[[str], None]
    ) -> ToolOutput:
        """Call a tool of a server. Raises ToolError."""
        connection = await self._connected(server)
        self.check(server, tool)
        try:
            output = await connection.call(tool, arguments, progress)
        except ToolError as error:
            await self._use_older(connection, str(error))
            raise
        if output.is_error:
            await self._use_older(connection, plain_text(output.content))
        return output

    async def _use_older(self, connection: "Connection", said: str) -> None:
        """Reconnect with the older protocol if an error says that the server can ask the user only there.

        Then raises ToolError: the call is not repeated automatically, because it may have had effects before its
        question.
        """
        name = connection.server.name
        if connection.older or NO_QUESTIONS not in said:
            return
        connection.older = True
        connection.close()
        await self._apply(name, lost=True)
        await self._connected(name)
        raise ToolError(
            f"The tool needs to ask the user, which {name} can do only in an older version of the protocol. "
            "It has been reconnected with that version: call the tool again."
        )

    async def read(self, server: str, uri: str, most: int) -> tuple[str, tuple[Block, ...]]:
        """Read a resource. Raises ToolError."""
        return await (await self._connected(server)).read(uri, most)

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt. Raises ToolError."""
        return await (await self._connected(server)).prompt(name, arguments)

    async def _connected(self, name: str) -> "Connection":
        """Return the connection, reconnecting if it was lost. Raises ToolError."""
        if name in self._shown:
            async with self._locks[name]:
                pass  # the server may be about to start
        if name not in self._running:
            raise _unavailable(self._found(name))
        connection, _ = self._running[name]
        if connection.over and connection.server.offer.tools:
            await self._apply(name, lost=True)
            connection, _ = self._running[name]
        try:
            async with asyncio.timeout(PATIENCE):
                await connection.settled.wait()
        except TimeoutError:
            raise ToolError(f"The server {name} is still starting. Try again later.") from None
        return connection

    # Its thread ----------------------------------------------------------------------------------------------

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.set_exception_handler(lambda *_: None)  # a server's connection has already reported its failure
        try:
            self._load()
        except ImportError:
            self._problem = MISSING
        with self._lock:
            for name in self._wanted:
                loop.create_task(self._apply(name))
        try:
            loop.run_forever()
            loop.run_until_complete(self._end_all())
        finally:
            loop.close()

    def _submit(self, work: Callable[[str], Coroutine[Any, Any, None]], name: str) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            asyncio.run_coroutine_threadsafe(work(name), loop)

    def _show(self, name: str) -> None:
        """Show a server that has no connection."""
        wanted = self._wanted.get(name)
        if wanted is None:
            self._shown.pop(name, None)
            return
        definition = wanted.definition
        state: State = wanted.held or ("failed" if self._problem else "starting")
        why = wanted.why or (self._problem if wanted.held is None else "")
        self._shown[name] = Server(name, definition.transport, definition.origin, state, why)

    async def _apply(self, name: str, *, lost: bool = False) -> None:
        """Start or end one server as wanted; with `lost`, only if its connection is over."""
        async with self._locks[name]:
            offer, older = Offer(), False
            if lost:
                before, _ = self._running[name]
                if not before.over:
                    return
                # Keep the known offer, so that calls retry while the server is away.
                offer, older = before.server.offer, before.older
            await self._stop(name)
            self._show(name)
            wanted = self._wanted.get(name)
            if wanted is not None and wanted.held is None and not self._problem:
                made: type[Connection] = resolved(CONNECTION)
                connection = made(wanted.definition, self._world, self._changed, offer, older=older)
                self._running[name] = connection, asyncio.ensure_future(connection.serve())
            self._changed()

    async def _stop(self, name: str) -> None:
        if name in self._running:
            connection, task = self._running.pop(name)
            connection.close()
            if not connection.settled.is_set():
                task.cancel()
            await asyncio.wait({task}, timeout=CLOSE_SECONDS)

    async def _end_all(self) -> None:
        await asyncio.gather(*(self._stop(name) for name in list(self._running)), return_exceptions=True)
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1.0)


def _unavailable(server: Server) -> ToolError:
    return ToolError(f"The server {server.name} is not available: {server.fault}.")


def _load_sdk() -> None:
    resolved(CONNECTION)
    keep_quiet()
