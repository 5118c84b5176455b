"""The connection to one server.

Starts or reaches it, lists what it offers, calls it, and describes its state in one line. Everything here runs in the
hub's thread. `server` is a value that other threads may read at any time. Every wait is limited: for connecting and
for a call by the definition's time limit, which progress extends a few times, and for closing by a few seconds.
Results are not checked against the server's schemas, because a pattern in a schema could block the whole program.
"""

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, ElicitResult, ErrorData, Implementation

from prunecli import __version__
from prunecli.features.mcp.calling import Clock, call_tool
from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.elicitation import page, question
from prunecli.features.mcp.http import http_transport
from prunecli.features.mcp.oauth import may_log_in
from prunecli.features.mcp.results import in_line, text_of_prompt, text_of_resource
from prunecli.features.mcp.server_lists import ValidTools, offer_of
from prunecli.features.mcp.server_state import Offer, Server, State, World
from prunecli.features.mcp.stdio import stdio_transport
from prunecli.model.messages import Block, Json
from prunecli.tools.tool import ToolOutput
from prunecli.util.errors import PrunecliError, ToolError

LOG_LINES = 200
CLOSE_SECONDS = 6.0
RELIST_SECONDS = 0.2
"""Seconds in which changes of a server's lists are collected before the lists are requested again."""

_NO_SESSION = (400, 404)
"""Statuses of a server that does not know the session, for example after a restart."""
_MALFORMED = re.compile(r"\d+ validation errors? for \S+ (.+?)(?: \[type=.*|$)")
"""The SDK's message for an invalid value. The group is the place and the reason."""

T = TypeVar("T")


class Connection:
    """One server. `changed` is called after each change of `server`; `offer` is the server's last known offer.
    `older`: connect with the handshake of the protocol before 2026."""

    def __init__(
        self,
        definition: Definition,
        world: World,
        changed: Callable[[], None],
        offer: Offer | None = None,
        *,
        older: bool = False,
    ) -> None:
        self.older = older
        self._definition = definition
        self._world = world
        self._changed = changed
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self._client: Client | None = None
        self._over = asyncio.Event()
        self._relist = asyncio.Event()
        self._why = ""
        self._status = 0
        self._clocks: set[asyncio.Timeout] = set()
        self._gone: list[str] = []
        self.settled = asyncio.Event()
        self.server = Server(definition.name, definition.transport, definition.origin, offer=offer or Offer())

    async def serve(self) -> None:
        """Connect, and stay until the connection is closed or lost."""
        limit = self._definition.timeout
        stack = AsyncExitStack()
        try:
            async with asyncio.timeout(limit):
                self._client = await self._connect(stack)
                offer = await offer_of(self._client, self._note, self._gone)
            self._become("connected", offer.left_out, offer)
            await self._attend(self._client)
            self._end(self._why or "closed")
        except TimeoutError:
            self._become("failed", f"no answer within {limit:g} seconds")
        except asyncio.CancelledError:
            self._end(self._why or "closed")
            if not self._over.is_set():
                raise
        except Exception as error:  # noqa: BLE001  # any error in the SDK ends only this connection
            self._fail(error)
        finally:
            self._client = None
            self._over.set()
            self.settled.set()
            await self._leave(stack)

    @property
    def over(self) -> bool:
        """Whether the connection is lost or closed, though `serve` may still be ending it."""
        return self._over.is_set()

    def close(self) -> None:
        """End the connection; `serve` returns soon."""
        self._over.set()

    async def _connect(self, stack: AsyncExitStack) -> Client:
        return await stack.enter_async_context(
            Client(
                self._checked(self._transport(self._definition.expanded(self._world.environ))),
                client_info=Implementation(name="prunecli", version=__version__),
                elicitation_callback=self._elicited,
                message_handler=self._heard,
                cache=None,
                mode="legacy" if self.older else "auto",
            )
        )

    @asynccontextmanager
    async def _checked(self, transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        async with transport as (read, write):
            checked = ValidTools(read, lambda: self._client.protocol_version if self._client else "")
            self._gone = checked.gone
            yield checked, write

    def _transport(self, definition: Definition) -> AbstractAsyncContextManager[Any]:
        if definition.transport == "stdio":
            cwd = self._world.cwd / Path(definition.cwd).expanduser() if definition.cwd else self._world.cwd
            env = {**self._world.env, **definition.env}
            argv = (definition.command, *definition.args)
            return stdio_transport(argv, cwd=cwd, env=env, log=self._note, lost=self._lose)
        return http_transport(definition, auth=self._world.auth(definition), answered=self._answered)

    async def _attend(self, client: Client) -> None:
        """Follow changes of the server's lists until the connection is over."""
        watching = asyncio.ensure_future(self._listen(client))
        over = asyncio.ensure_future(self._over.wait())
        try:
            while not self._over.is_set():
                changed = asyncio.ensure_future(self._relist.wait())
                try:
                    await asyncio.wait({changed, over}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    changed.cancel()
                if self._relist.is_set() and not self._over.is_set():
                    await asyncio.wait({over}, timeout=RELIST_SECONDS)
                    self._relist.clear()
                    await self._list_again(client)
        finally:
            watching.cancel()
            over.cancel()
            await asyncio.gather(watching, over, return_exceptions=True)

    async def _list_again(self, client: Client) -> None:
        try:
            async with asyncio.timeout(self._definition.timeout):
                offer = await offer_of(client, self._note, self._gone)
        except (TimeoutError, MCPError, ValueError) as error:
            self._note(f"the changed lists could not be read: {in_line(str(error)) or 'no answer'}")
        else:
            self._become("connected", offer.left_out, offer)

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes if the protocol's version requires that. Otherwise they come as notifications."""
        able = client.server_capabilities
        try:
            async with client.listen(
                tools_list_changed=bool(able.tools),
                prompts_list_changed=bool(able.prompts),
                resources_list_changed=bool(able.resources),
            ) as events:
                async for _ in events:
                    self._relist.set()
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            return

    async def _leave(self, stack: AsyncExitStack) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await stack.aclose()
        except TimeoutError:
            self._note("did not close in time")
        except Exception as error:  # noqa: BLE001  # as in `serve`
            self._note(f"closing: {_words(error)}")

    # Events --------------------------------------------------------------------------------------------

    def _become(self, state: State, why: str = "", offer: Offer | None = None) -> None:
        kept = offer if offer is not None else self.server.offer
        self.server = replace(self.server, state=state, why=why, offer=kept, log=tuple(self._log))
        if state != "starting":
            self.settled.set()
        self._changed()

    def _fail(self, error: BaseException) -> None:
        self._end(self._why or f"{_words(error)}{self._http_status}")

    def _end(self, why: str) -> None:
        """End the connection for this reason, unless the server requires a login."""
        if self._status != 401:
            self._become("failed", why)
        elif self._may_log_in():
            self._become("needs login", f"/mcp login {self._definition.name}")
        else:
            self._become("failed", "the credentials in its headers were rejected (HTTP 401)")

    def _may_log_in(self) -> bool:
        return may_log_in(self._definition)

    @property
    def _http_status(self) -> str:
        return f" (HTTP {self._status})" if self._status else ""

    def _note(self, line: str) -> None:
        self._log.append(in_line(line, 500))
        self.server = replace(self.server, log=tuple(self._log))

    def _lose(self, why: str) -> None:
        self._why = self._why or in_line(why)
        self._over.set()

    def _answered(self, status: int) -> None:
        self._status = status if status >= 400 else 0
        if self._status:
            self._note(f"HTTP {status}")

    async def _heard(self, message: Any) -> None:
        method = getattr(message, "method", "")
        if str(method).endswith("/list_changed"):
            self._relist.set()
        elif isinstance(message, Exception):
            self._note(f"not understood: {in_line(str(message))}")

    async def _elicited(self, context: Any, params: Any) -> ElicitResult | ErrorData:  # noqa: ARG002
        name = self._definition.name
        try:
            if params.mode == "url":
                asked = page(name, params.message, params.url)
            else:
                schema = params.requested_schema
                asked = question(
                    name, params.message, schema if isinstance(schema, dict) else schema.model_dump()
                )
        except ValueError as error:
            return ErrorData(code=INVALID_PARAMS, message=str(error))
        with self._clocks_stopped():
            reply = await self._world.elicit(asked)
        content = dict(reply.values) if reply.action == "accept" and not asked.url else None
        return ElicitResult(action=reply.action, content=content)

    # Requests ------------------------------------------------------------------------------------------------

    async def call(
        self, tool: str, arguments: Mapping[str, Json], progress: Callable[[str], None]
    ) -> ToolOutput:
        """Call a tool. Raises ToolError if there is no result."""
        async with self._asking() as (client, clock):
            report, media = clock.reporter(progress), self._world.media()
            return await call_tool(client, self._definition.name, tool, arguments, report, media)

    async def read(self, uri: str, most: int) -> tuple[str, tuple[Block, ...]]:
        """Return the text and the images of a resource, at most `most` bytes of text. Raises ToolError."""
        async with self._asking() as (client, _):
            return text_of_resource((await client.read_resource(uri)).contents, most, self._world.media())

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt. Raises ToolError."""
        async with self._asking() as (client, _):
            return text_of_prompt((await client.get_prompt(name, dict(arguments))).messages)

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[tuple[Client, Clock]]:
        """Yield the client for a request, with a time limit. Any failure becomes a one-line error."""
        name, limit = self.server.name, self._definition.timeout
        client = self._client
        if client is None:
            raise ToolError(f"The server {name} is not connected: {self.server.fault}.")
        try:
            async with asyncio.timeout(limit) as timeout:
                clock = Clock(timeout, limit)
                self._clocks.add(timeout)
                try:
                    yield client, clock
                finally:
                    self._clocks.discard(timeout)
        except TimeoutError:
            raise ToolError(f"The server {name} did not answer within {limit:g} seconds.") from None
        except (ToolError, asyncio.CancelledError):
            raise
        except Exception as error:  # as in `serve`
            raise ToolError(self._failure(error)) from error

    def _failure(self, error: Exception) -> str:
        name = self.server.name
        words = _words(error)
        if isinstance(error, ValueError):  # an answer that does not follow the protocol
            return f"{name}: {words}"
        lost = getattr(error, "code", None) == CONNECTION_CLOSED or not hasattr(error, "code")
        if lost or (self._status in _NO_SESSION and "session" in words.lower()):
            self._lose(words)
            if self._status == 401 and self._may_log_in():
                return f"The server {name} no longer accepts the login: /mcp login {name} to log in again."
            return f"The connection to the server {name} was lost: {self._why}."
        return f"{name}: {words}{self._http_status}"

    @contextlib.contextmanager
    def _clocks_stopped(self) -> Any:
        """Pause the time limits of requests while the user thinks."""
        loop = asyncio.get_running_loop()
        stopped = [(clock, clock.when()) for clock in self._clocks]
        begun = loop.time()
        for clock, _ in stopped:
            clock.reschedule(None)
        try:
            yield
        finally:
            for clock, when in stopped:
                if clock in self._clocks and when is not None:
                    clock.reschedule(when + loop.time() - begun)


def _words(error: BaseException) -> str:
    """Return an error in one line; for a group, its first error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, PrunecliError):
        return in_line(f"{error.message}{f' ({error.hint})' if error.hint else ''}")
    if isinstance(error, FileNotFoundError):
        return f"there is no program {in_line(str(error.filename), 100)}"
    if isinstance(error, OSError) and error.strerror:
        return in_line(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    return in_line(_MALFORMED.sub(r"not in the form of the protocol: \1", in_line(str(error), 2_000))) or (
        type(error).__name__
    )
