"""Servers for tests: their definitions, and a hub of some of them."""

import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.hub import Hub
from prunecli.features.mcp.server_state import Server, Wanted, World
from prunecli.runtime.forms import Elicit, Elicitation, Reply
from tests.waiting import until, wait_until

HERE = Path(__file__).parent


def sdk(name: str = "fake", *words: str, timeout: float = 60.0, origin: str = "a test") -> Definition:
    """A server made with the SDK."""
    script = str(HERE / "sdk_server.py")
    return Definition(name, command=sys.executable, args=(script, *words), timeout=timeout, origin=origin)


RAW = ("-u", str(HERE / "raw_server.py"))
"""Arguments of Python that start a server without the SDK; the name of a fault follows."""


def raw(fault: str, timeout: float = 60.0, name: str = "") -> Definition:
    """A server with a fault, named after it."""
    name = name or fault.replace("=", "-")
    return Definition(name, command=sys.executable, args=(*RAW, fault), timeout=timeout)


async def decline(_: Elicitation) -> Reply:
    return Reply("decline")


def world(folder: Path, elicit: Elicit = decline) -> World:
    return World(folder, {"PATH": "/usr/bin:/bin", "HOME": str(folder)}, {}, lambda _: None, elicit)


@asynccontextmanager
async def hub_of(folder: Path, *definitions: Definition, elicit: Elicit = decline) -> AsyncIterator[Hub]:
    """A hub in which these servers have started, or failed."""
    hub = Hub(world(folder, elicit))
    hub.use([Wanted(one) for one in definitions])
    hub.begin()
    try:
        await until(lambda: all(one.state != "starting" for one in hub.servers))
        yield hub
    finally:
        hub.close()


def server_of(hub: Hub, name: str) -> Server:
    return next(one for one in hub.servers if one.name == name)


def nothing(_: str) -> None:
    """Show no progress."""


def free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def listening(words: Callable[[int], Sequence[str]], at: int = 0) -> Iterator[str]:
    """A server of its own process; yields its address. `words` is the command for a port."""
    port, quiet = at or free_port(), subprocess.DEVNULL
    process = subprocess.Popen(words(port), env={**os.environ, "PORT": str(port)}, stdout=quiet, stderr=quiet)

    def listens() -> bool:
        with closing(socket.socket()) as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(listens)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
