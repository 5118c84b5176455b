"""The HTTP proxy of a sandbox with a list of hosts. It connects only to these hosts.

The sandbox has its own network with only a loopback interface. A small start program inside opens a listening socket
and hands it to this process, which accepts connections on it, because a socket stays in the network where it was
made. So no program inside forwards anything, and this machine has no listening socket.

Names are resolved here, addresses that are not public are refused, and the connection goes to the checked address.
CONNECT and plain HTTP are supported; each connection carries one request.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from prunecli.tools.processes.command import INTERPRETER
from prunecli.tools.web.access import Resolve, resolved
from prunecli.util.hosts import is_allowed, is_public, normal

LISTEN = """
import _socket, posix, sys
_, control, keep_locale, *command = sys.argv
listener = _socket.socket(2, 1)
listener.bind(("127.0.0.1", 0))
listener.listen(128)
where = "http://127.0.0.1:%d" % listener.getsockname()[1]
ours = _socket.socket(fileno=int(control))
ours.sendmsg([b"L"], [(1, 1, listener.fileno().to_bytes(4, sys.byteorder))])
ours.close()
listener.close()
environ = dict(posix.environ)
if keep_locale == "0":
    environ.pop(b"LC_CTYPE", None)
for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
    environ[name.encode()] = where.encode()
for name in ("NO_PROXY", "no_proxy"):
    environ[name.encode()] = b"localhost,127.0.0.1,::1"
environ[b"NODE_USE_ENV_PROXY"] = b"1"
posix.execve(command[0], command, environ)
"""
"""Run inside the sandbox before the command. Uses only built-in modules, because it runs for each command."""

MOST_HEAD = 65_536
HEAD_SECONDS, CONNECT_SECONDS = 30.0, 15.0
_CHUNK = 65_536
_CONNECT = re.compile(rb"CONNECT ([^\s:/@]+):(\d{1,5}) HTTP/1\.[01]")
_PLAIN = re.compile(rb"([A-Z]{1,16}) http://([^\s:/@?#]+)(?::(\d{1,5}))?([/?]\S*)? HTTP/1\.[01]")
_DROPPED = re.compile(rb"(?i)(?:proxy-[^:]*|connection|keep-alive|host):")
_FORBIDDEN = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
)

Connect: TypeAlias = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""(address, port) -> a connection."""


def start_words(control: int, argv: Sequence[str], *, keep_locale: bool) -> list[str]:
    """Return the command preceded by the start program, which hands the socket to the descriptor `control`."""
    return [INTERPRETER, "-I", "-S", "-c", LISTEN, str(control), str(int(keep_locale)), *argv]


class _Refused(Exception):
    """The request is refused; the text gives the reason."""


@dataclass(slots=True)
class Proxy:
    """A proxy that connects to the listed hosts. `refused` are requested hosts that are not listed."""

    patterns: tuple[str, ...]
    resolve: Resolve = resolved
    connect: Connect = asyncio.open_connection
    refused: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[int]:
        """Serve the sandbox that gets the descriptor, until the context ends."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        task = asyncio.ensure_future(self._serve(ours))
        try:
            yield theirs.fileno()
        finally:
            theirs.close()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            ours.close()

    async def _serve(self, control: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(control, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(control)
        _, descriptors, *_ = socket.recv_fds(control, 1, 1)
        if descriptors:
            listener = socket.socket(fileno=descriptors[0])
            server = await asyncio.start_server(self.handle, sock=listener, limit=MOST_HEAD)
            async with server:
                await server.serve_forever()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except _Refused as error:
            said = f"prunecli: {error}\n".encode()
            writer.write(_FORBIDDEN % len(said) + said)
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the connection is closed, which the program inside sees
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head[:-4].split(b"\r\n")
        if match := _CONNECT.fullmatch(line):
            upstream = await self._open(match[1], int(match[2]))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        elif match := _PLAIN.fullmatch(line):
            upstream = await self._open(match[2], int(match[3] or 80))
            path = match[4] or b"/"
            where = match[2] + (b":" + match[3] if match[3] else b"")
            kept = [one for one in fields if not _DROPPED.match(one)]
            path = path if path.startswith(b"/") else b"/" + path
            upstream[1].write(
                b"\r\n".join(
                    [match[1] + b" " + path + b" HTTP/1.1", b"Host: " + where, b"Connection: close", *kept]
                )
                + b"\r\n\r\n"
            )
        else:
            raise _Refused("not a proxy request")
        try:
            await asyncio.gather(_pipe(reader, upstream[1]), _pipe(upstream[0], writer))
        finally:
            upstream[1].close()

    async def _open(self, raw: bytes, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host = normal(raw.decode("ascii", "replace"))
        if not host or not 0 < port < 65536 or not is_allowed(host, self.patterns):
            shown = raw[:253].decode("ascii", "backslashreplace")
            self.refused.append(host or shown)
            raise _Refused(f"{shown} is not allowed: it is not in [sandbox] network")
        async with asyncio.timeout(CONNECT_SECONDS):
            public = [address for address in await self.resolve(host, port) if is_public(address)]
            if not public:
                self.refused.append(host)
                raise _Refused(f"{host} is not allowed: it has no public address")
            for last, address in enumerate(public, 1 - len(public)):
                try:
                    return await self.connect(address, port)
                except OSError:
                    if last == 0:
                        raise
        raise _Refused(f"{host} could not be reached")


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
