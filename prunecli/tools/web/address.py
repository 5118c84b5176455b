"""The address of a page, and whether it may be fetched. Makes no request and looks up no name.

The same ASCII form of a host is checked, shown and connected to. So a name with look-alike letters is shown as
`xn--...`.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.hosts import is_address, is_local_name, is_public, normal
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = lazy("httpx2")


MAX_URL = 8_000
_PORTS = {"http": 80, "https": 443}
_IN_PATH = "/%:@!$&'()*+,;=~-._"
"""Characters that stay unchanged in a path or query; all others are percent-encoded."""


@frozen
class Address:
    """An http(s) address in ASCII, without credentials and fragment. `host` is a name or an IP address."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def site(self) -> str:
        """Host and port as rules name them, without the scheme's usual port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.site}{self.target}"

    @property
    def is_literal(self) -> bool:
        return is_address(self.host)

    def joined(self, location: str) -> str:
        """Return the URL that a redirect from here leads to."""
        try:
            return urljoin(self.url, location.strip())
        except ValueError:
            return location


def parsed(text: str, private: Sequence[str] = ()) -> Address:
    """Return the address of a page; http becomes https unless it names a port or is listed as private.

    Raises a ToolError that explains the problem.
    """
    text = text.strip()
    if len(text) > MAX_URL:
        raise ToolError(f"The URL has {len(text):,} characters; the limit is {MAX_URL:,}.")
    if not text.isprintable() or " " in text or "\\" in text:
        raise ToolError("The URL contains a space, a backslash or an invisible character. Percent-encode it.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ToolError(f"This is not a valid URL: {error}.") from error
    if parts.scheme not in _PORTS:
        raise ToolError(
            f"Only http and https URLs can be fetched, not {parts.scheme}:"
            if parts.scheme
            else "The URL must start with https://."
        )
    if "@" in parts.netloc:
        raise ToolError("A URL with a user name or password is not fetched. Leave them out.")
    if port == 0:
        raise ToolError("The URL has port 0.")
    host = _host(parts)
    scheme = parts.scheme
    found = Address(scheme, host, port or _PORTS[scheme], _target(parts))
    if scheme == "http" and port in (None, 80) and not listed(found, private):
        return Address("https", host, _PORTS["https"], found.target)
    return found


def refusal(address: Address, private: Sequence[str]) -> str:
    """Return why this address is not fetched; "" if that depends on the lookup of its name."""
    if listed(address, private):
        return ""
    if address.is_literal:
        return "" if is_public(address.host) else not_public(address)
    return not_public(address) if is_local_name(address.host) else ""


def not_public(address: Address) -> str:
    """Return the error for an address inside the user's machine or network."""
    return (
        f"{address.site} is not on the public internet, so it was not fetched."
        f' The user can allow it: [tools.web] private = ["{address.site}"].'
    )


def listed(address: Address, private: Sequence[str]) -> bool:
    """Return whether the user lists this host, or this host with this port, as one that may be private."""
    bare = f"[{address.host}]" if ":" in address.host else address.host
    wanted = {bare, f"{bare}:{address.port}"}
    return any(entry.lower() in wanted for entry in private)


def problem(entry: str) -> str:
    """Return the problem with an entry of the list of private hosts, or ""."""
    try:
        found = parsed(f"https://{entry}/")
    except ToolError:
        return f'expected a host such as "localhost:8000", got {entry!r}'
    bare = f"[{found.host}]" if ":" in found.host else found.host
    plain = entry.lower() in (bare, f"{bare}:{found.port}")
    return "" if plain else f'expected a host such as "localhost:8000", got {entry!r}'


def _host(parts: SplitResult) -> str:
    """Return the host in ASCII. Raises ToolError for anything but a name or a plainly written IP address."""
    host = parts.hostname or ""
    if not host:
        raise ToolError("The URL has no host.")
    if "[" in parts.netloc or ":" in host or is_address(host):
        try:
            return ip_address("%" if "%" in host else host).compressed
        except ValueError:
            raise ToolError(
                f"{host!r} is not a plainly written IP address, so the URL is not fetched."
            ) from None
    name = normal(host if host.isascii() else _ascii(host))
    if not name:
        raise ToolError(f"{host!r} is not a host name.")
    return name


def _ascii(host: str) -> str:
    """Return the punycode of an international name, "" if it has none."""
    try:
        return httpx2.URL(f"https://{host}/").raw_host.decode("ascii")
    except (httpx2.InvalidURL, ValueError):
        return ""


def _target(parts: SplitResult) -> str:
    path = quote(parts.path or "/", safe=_IN_PATH)
    query = quote(parts.query, safe=_IN_PATH + "/?[]")
    return urlunsplit(("", "", path if path.startswith("/") else f"/{path}", query, ""))
