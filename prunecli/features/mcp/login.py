"""Logs in to MCP servers: runs the login in its own thread and opens the browser."""

import asyncio
import threading
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TYPE_CHECKING, Any

from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.logins import Login
from prunecli.plugins.app import resolved
from prunecli.util.errors import PrunecliError
from prunecli.util.paths import Places

if TYPE_CHECKING:
    from httpx2 import Auth


OAUTH = "prunecli.features.mcp.oauth"
"""Imports the SDK, so only a login and a connection do."""


def login_of(places: Places, definition: Definition) -> Login:
    return Login(places.mcp_logins, definition.name, definition.url)


def auth_of(places: Places, definition: Definition) -> "Auth | None":
    """Return the authentication of a connection, from the stored login. `definition` is expanded."""
    found: Auth | None = resolved(f"{OAUTH}:quiet_auth")(definition, login_of(places, definition))
    return found


class LoginAttempt:
    """A login in progress. `address` and `finish` wait, so call them in a thread; `stop` may be called from any
    thread."""

    def __init__(self, places: Places, definition: Definition) -> None:
        self._definition = definition
        self._login = login_of(places, definition)
        self._address: Future[str] = Future()
        self._done: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def address(self) -> str:
        """Start the login and return the URL for the browser. Raises PrunecliError."""
        threading.Thread(target=self._run, name="mcp-login", daemon=True).start()
        either: list[Future[Any]] = [self._address, self._done]
        wait(either, return_when=FIRST_COMPLETED)
        if not self._address.done():
            self._done.result()
            raise PrunecliError(f"{self._definition.name}: login stopped")
        return self._address.result()

    def finish(self) -> None:
        """Wait until the user is logged in. Raises PrunecliError."""
        self._done.result()

    def stop(self) -> None:
        """End the login without storing anything."""
        self._stopped = True
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)

    def _run(self) -> None:
        name = self._definition.name
        try:
            asyncio.run(self._main())
            self._done.set_result(None)
        except PrunecliError as error:
            self._done.set_exception(error)
        except ImportError:
            self._done.set_exception(PrunecliError("the package mcp is missing", "install prunecli again"))
        except asyncio.CancelledError:
            self._done.set_exception(PrunecliError(f"{name}: login stopped"))
        finally:
            if not self._done.done():  # an internal error, which the thread reports
                self._done.set_exception(PrunecliError(f"{name}: login failed"))

    async def _main(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if not self._stopped:
            await resolved(f"{OAUTH}:log_in")(self._definition, self._login, self._show)

    async def _show(self, address: str) -> None:
        self._address.set_result(address)
