"""Downloads one address with limits on time, bytes and redirects, connecting only to a checked IP address.

A name is looked up once, and addresses that are not public are left out. The connection goes to a checked address;
TLS still verifies the name. So a name that changes its address between check and connection gains nothing. Behind a
proxy, the proxy looks up names, and only a name that has no public address in the local lookup is refused.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from prunecli.tools.web.access import Web
from prunecli.tools.web.address import Address, listed, not_public, parsed, refusal
from prunecli.util.errors import PrunecliError, ToolError
from prunecli.util.frozen import frozen
from prunecli.util.hosts import is_public
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = lazy("httpx2")


MAX_REDIRECTS = 5
CONNECT_SECONDS = 10.0
_MOST_WHY = 200
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
AGENT = "prunecli (https://pypi.org/project/prunecli)"
_HEADERS = {
    "Accept": "text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.5",
}


@frozen
class Download:
    """The response from `address`. `cut`: the body is longer than the limit. `elsewhere` is a redirect to another
    host, which was not followed."""

    address: Address
    headers: Mapping[str, str]
    body: bytes = b""
    cut: bool = False
    elsewhere: Address | None = None


async def download(address: Address, web: Web) -> Download:
    """Download this address, following redirects on the same host. Raises ToolError."""
    try:
        async with asyncio.timeout(web.seconds):
            for _ in range(MAX_REDIRECTS + 1):
                found = await _get(address, web)
                if isinstance(found, Download):
                    return found
                if found.site != address.site:
                    return Download(address, {}, elsewhere=found)
                address = found
    except TimeoutError as error:
        raise ToolError(f"{address.url} was not complete after {web.seconds:g} s.") from error
    except httpx2.HTTPError as error:
        why = one_line(str(error).strip() or type(error).__name__)[:_MOST_WHY]
        raise ToolError(f"{address.url} could not be fetched: {why}") from error
    raise ToolError(f"{address.url} redirects more than {MAX_REDIRECTS} times.")


async def _get(address: Address, web: Web) -> Download | Address:
    """Return the response, or the address that it redirects to. Raises ToolError for an error status."""
    async with requested(address, web, "GET", _HEADERS) as response:
        return await _answer(address, response, web)


@asynccontextmanager
async def requested(
    address: Address, web: Web, method: str, headers: Mapping[str, str], content: bytes | None = None
) -> AsyncGenerator["httpx2.Response", None]:
    """Send one request to a checked address and yield the response, whose body has not been read.

    Raises ToolError for an address that is refused, and HTTPError.
    """
    try:
        proxy, ca_file = web.route(address.url)
    except PrunecliError as error:
        raise ToolError(f"{error.message}: {error.hint}" if error.hint else error.message) from error
    last: Exception | None = None
    for to in await _addresses(address, web, through_proxy=bool(proxy)):
        url, more = _connecting(address, to)
        patience = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        async with httpx2.AsyncClient(
            transport=web.transport(proxy, ca_file), trust_env=False, timeout=patience
        ) as client:
            given = httpx2.Headers({"User-Agent": AGENT})
            given.update(headers)
            given["Host"] = address.site
            request = client.build_request(method, url, headers=given, content=content, extensions=more)
            try:
                response = await client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                last = error
                continue
            try:
                yield response
                return
            finally:
                await response.aclose()
    raise last or ToolError(f"{address.host} has no address.")


async def _addresses(address: Address, web: Web, *, through_proxy: bool) -> Sequence[str]:
    """Return the addresses to connect to; "" to connect by name. Raises ToolError if none may be fetched from."""
    if why := refusal(address, web.private):
        raise ToolError(why)
    if address.is_literal:
        return ("" if through_proxy else address.host,)
    try:
        found = await web.resolve(address.host, address.port)
    except OSError as error:
        if through_proxy:
            return ("",)
        raise ToolError(f"The name {address.host} was not found: {error.strerror or error}.") from error
    usable = found if listed(address, web.private) else [one for one in found if is_public(one)]
    if not usable:
        raise ToolError(not_public(address))
    return ("",) if through_proxy else usable


def _connecting(address: Address, to: str) -> tuple[str, dict[str, str]]:
    """Return the URL for this IP address, and the name that TLS must verify."""
    if not to:
        return address.url, {}
    host = f"[{to}]" if ":" in to else to
    named = {} if address.is_literal or address.scheme == "http" else {"sni_hostname": address.host}
    return f"{address.scheme}://{host}:{address.port}{address.target}", named


async def _answer(address: Address, response: "httpx2.Response", web: Web) -> Download | Address:
    location = response.headers.get("location", "")
    if response.status_code in _REDIRECTS and location:
        found = parsed(address.joined(location), web.private)
        if why := refusal(found, web.private):
            raise ToolError(f"{address.url} redirects to {found.url}. {why}")
        return found
    if not response.is_success:
        status = f"{response.status_code} {httpx2.codes.get_reason_phrase(response.status_code)}".strip()
        raise ToolError(f"{address.url} answered with HTTP status {status}.")
    body, cut = bytearray(), False
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > web.most:
            cut = True
            break
    return Download(address, dict(response.headers), bytes(body[: web.most]), cut)
