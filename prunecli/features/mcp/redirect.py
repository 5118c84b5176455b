"""The end of a login in a browser: a page on this machine that accepts the code, once, for the right login.

It listens on 127.0.0.1 only. A request without the login's own `state` is refused and changes nothing, so no other
page or program can end or take over a login.
"""

import asyncio
import secrets
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

from prunecli.util.errors import PrunecliError
from prunecli.util.sanitize import one_line

PATH = "/callback"
MAX_REQUEST = 16_000
READ_SECONDS = 10.0
_PAGE = (
    '<!doctype html><meta charset="utf-8"><title>prunecli</title>'
    '<body style="font: 16px system-ui; margin: 4em auto; max-width: 30em"><h1>{}</h1><p>{}</p>'
)
_SHOWN = 200


class Code(NamedTuple):
    """The data of the redirect: the code, its state, and the claimed issuer (RFC 9207)."""

    code: str
    state: str
    issuer: str | None


class Refused(PrunecliError):
    """The authorization server redirected without a code."""


class Redirect:
    """A server for one redirect. Open it with `at`; it closes with its `async with`."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._server: asyncio.Server | None = None
        self._state = ""
        self._arrived: asyncio.Future[Code] = asyncio.get_running_loop().create_future()
        self.address = ""
        """The redirect URI."""

    @classmethod
    async def at(cls, port: int, host: str = "127.0.0.1") -> "Redirect":
        """Listen on a port (0: any). `host` is only the spelling of this machine in the address. Raises OSError."""
        made = cls(host)
        made._server = await asyncio.start_server(made._serve, "127.0.0.1", port, limit=MAX_REQUEST)
        made.address = f"http://{host}:{made._server.sockets[0].getsockname()[1]}{PATH}"
        return made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        self._arrived.cancel()

    def expect(self, state: str) -> None:
        """Accept a code for this state only."""
        self._state = state

    async def wait(self) -> Code:
        """Wait for the browser. Raises Refused."""
        return await asyncio.shield(self._arrived)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            status, title, text = self._answer(head.split(b"\r\n", 1)[0].decode("ascii", "replace"))
            body = _PAGE.format(title, text).encode()
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
                "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n"
                "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n".encode()
                + body
            )
            async with asyncio.timeout(READ_SECONDS):
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _answer(self, line: str) -> tuple[str, str, str]:
        """Return the status, title and text for a request line. Stores the code if it belongs to this login."""
        method, _, rest = line.partition(" ")
        target = urlsplit(rest.rpartition(" ")[0])
        if method != "GET" or target.path != PATH:
            return "404 Not Found", "Not found", "prunecli is waiting for a login here."
        try:
            given = {name: values[0] for name, values in parse_qs(target.query, max_num_fields=20).items()}
        except ValueError:
            given = {}
        if not self._state or not secrets.compare_digest(
            given.get("state", "").encode(), self._state.encode()
        ):
            return "400 Bad Request", "Not this login", "This page belongs to another login. Try again there."
        if not self._arrived.done():
            if "error" in given or "code" not in given:
                why = given.get("error_description") or given.get("error") or "no code"
                self._arrived.set_exception(Refused(f"login refused: {one_line(why)[:_SHOWN]}"))
            else:
                self._arrived.set_result(Code(given["code"], given["state"], given.get("iss")))
        if self._arrived.cancelled() or self._arrived.exception() is not None:
            return "200 OK", "Not logged in", "You can close this page. See prunecli for details."
        return "200 OK", "Done", "You can close this page and go back to prunecli."
