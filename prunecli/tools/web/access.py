"""The runtime's settings for fetching pages. Every tool imports this module, so it imports no others."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = lazy("httpx2")


Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""(host, port) -> its addresses. Raises OSError."""
Transport: TypeAlias = "Callable[[str, str], httpx2.AsyncBaseTransport]"
"""(proxy or "", file of certificates or "") -> a transport."""


async def resolved(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host by the system's lookup. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _direct(_: str) -> tuple[str, str]:
    return "", ""


def _transport(proxy: str, ca_file: str) -> "httpx2.AsyncBaseTransport":
    verify = ssl.create_default_context(cafile=ca_file) if ca_file else True
    return httpx2.AsyncHTTPTransport(verify=verify, trust_env=False, proxy=proxy or None)


@frozen
class Web:
    """The settings for fetching pages.

    `private` are hosts that need not be public. `route` returns the proxy and the certificate file for a URL, each ""
    for none. One download takes at most `seconds` and keeps at most `most` bytes.
    """

    private: tuple[str, ...] = ()
    route: Callable[[str], tuple[str, str]] = _direct
    resolve: Resolve = resolved
    transport: Transport = _transport
    seconds: float = 30.0
    most: int = 5_000_000
