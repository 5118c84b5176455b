"""The ways to send a request to an endpoint of the Messages API: over httpx2, or over the anthropic SDK.

Both return an open response of any status, and raise httpx2's errors if there is none. The libraries are imported
when a wire is made: httpx2 takes about 0.1 s of CPU, the SDK more than a second.
"""

import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from prunecli import __version__
from prunecli.providers.network import Route
from prunecli.providers.registry import Transport
from prunecli.util.errors import ConfigError, Unauthorized
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy
from prunecli.util.sanitize import shortened, without_password

if TYPE_CHECKING:
    import anthropic
    import httpx2
else:
    anthropic = lazy("anthropic")
    httpx2 = lazy("httpx2")


ACCEPT = {"Accept": "text/event-stream, application/json", "Accept-Encoding": "identity"}
_VERSION = "2023-06-01"
"""The version of the API, the one that all servers know."""

DEFAULT_BASE_URL = "https://api.anthropic.com"
_ANTHROPIC = re.compile(r"(?:[a-z0-9-]+\.)*anthropic\.com")


@frozen
class Endpoint:
    """The address and the credential: the key takes precedence over the token; a local server may need neither.

    Raises ConfigError for a base_url that is not an http(s) address, and for a key that is not valid in a header.
    """

    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    base_url: str = DEFAULT_BASE_URL

    def __post_init__(self) -> None:
        for name, secret in (("ANTHROPIC_API_KEY", self.api_key), ("ANTHROPIC_AUTH_TOKEN", self.auth_token)):
            if not all("!" <= char <= "~" for char in secret or ""):
                raise ConfigError(f"{name}: contains a character that no API key has", "copy the key again")
        try:
            parts = urlsplit(self.base_url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ConfigError(
                f"base_url: {without_password(self.base_url)!r} is not an http(s) address",
                f"for example {DEFAULT_BASE_URL}",
            )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets that no message may repeat."""
        return tuple(secret for secret in (self.api_key, self.auth_token) if secret)

    @property
    def headers(self) -> dict[str, str]:
        if self.api_key:
            return {"x-api-key": self.api_key}
        return {"Authorization": f"Bearer {self.auth_token}"} if self.auth_token else {}

    @property
    def is_anthropic(self) -> bool:
        return bool(_ANTHROPIC.fullmatch(urlsplit(self.base_url).hostname or ""))


class Wire(Protocol):
    async def send(self, path: str, body: bytes | None, headers: dict[str, str]) -> "httpx2.Response":
        """Send a POST with a body, or a GET without one. Raises httpx2.HTTPError."""

    async def close(self) -> None:
        """Close all connections."""


def http_client(
    base_url: str, headers: Mapping[str, str], route: Route, connect_seconds: float
) -> "httpx2.AsyncClient":
    """Return a client that reads nothing from the environment and follows no redirect."""
    return httpx2.AsyncClient(
        base_url=base_url,
        headers={**ACCEPT, "User-Agent": f"prunecli/{__version__}", **headers},
        timeout=httpx2.Timeout(None, connect=connect_seconds),
        transport=httpx2.AsyncHTTPTransport(
            verify=_tls(base_url, route),
            trust_env=False,
            limits=httpx2.Limits(max_connections=20, max_keepalive_connections=4, keepalive_expiry=90.0),
            proxy=route.proxy or None,
            socket_options=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
        ),
        trust_env=False,
        follow_redirects=False,
    )


class HttpWire:
    """Sends requests over httpx2. Reads nothing from the environment; follows no redirect."""

    def __init__(self, endpoint: Endpoint, route: Route, connect_seconds: float) -> None:
        headers = {"anthropic-version": _VERSION, **endpoint.headers}
        self._client = http_client(endpoint.base_url, headers, route, connect_seconds)

    async def send(self, path: str, body: bytes | None, headers: dict[str, str]) -> "httpx2.Response":
        if body is not None:
            headers = {"Content-Type": "application/json", **headers}
        request = self._client.build_request(
            "GET" if body is None else "POST", path, content=body, headers=headers
        )
        return await self._client.send(request, stream=True)

    async def close(self) -> None:
        await self._client.aclose()


class SdkWire:
    """Sends requests through the anthropic SDK, with all that it reads from the environment: proxies, certificates,
    ANTHROPIC_CUSTOM_HEADERS, and at Anthropic's address, if no credential is given, its profiles and federated
    identities."""

    hint = "set ANTHROPIC_API_KEY, or sign in as the SDK expects it"

    def __init__(self, client: Any) -> None:
        self._client = client

    @classmethod
    def to(cls, endpoint: Endpoint, connect_seconds: float) -> "SdkWire":
        """Return the connections to an endpoint."""
        finds_its_own = endpoint.is_anthropic and not endpoint.secrets
        headers: dict[str, Any] = dict(ACCEPT)
        if not endpoint.is_anthropic:  # where the SDK would send a key as a bearer token
            headers |= {"anthropic-version": _VERSION, "Authorization": anthropic.Omit(), **endpoint.headers}
        try:
            client = anthropic.AsyncAnthropic(
                api_key=endpoint.api_key or None,
                auth_token=None if finds_its_own or endpoint.api_key else endpoint.auth_token or "",
                base_url=endpoint.base_url,
                default_headers=headers,
                **sdk_options(connect_seconds),
            )
        except anthropic.AnthropicError as error:
            raise no_credential(error, cls.hint) from error
        return cls(client)

    async def send(self, path: str, body: bytes | None, headers: dict[str, str]) -> "httpx2.Response":
        raw: Any = {"cast_to": httpx2.Response, "stream": True, "stream_cls": anthropic.AsyncStream[object]}
        if headers:
            raw["options"] = {"headers": headers}
        try:
            if body is None:
                found: httpx2.Response = await self._client.get(path, **raw)
            else:
                found = await self._client.post(path, **self._body(body), **raw)
        except _Refusal as refusal:
            return refusal.response
        except anthropic.APIConnectionError as error:
            if isinstance(error.__cause__, httpx2.HTTPError):
                raise error.__cause__  # noqa: B904  # it has a cause of its own
            raise httpx2.ConnectError(str(error)) from error
        except (anthropic.AnthropicError, TypeError) as error:
            raise no_credential(error, self.hint) from error
        return found

    def _body(self, body: bytes) -> dict[str, Any]:
        return {"content": body}

    async def close(self) -> None:
        await self._client.close()


def connected(endpoint: Endpoint, route: Route, connect_seconds: float, transport: Transport) -> Wire:
    """Return the connections to an endpoint. Imports the library."""
    if transport == "sdk":
        return SdkWire.to(endpoint, connect_seconds)
    return HttpWire(endpoint, route, connect_seconds)


def sdk_options(connect_seconds: float) -> dict[str, Any]:
    """Return the options of a client of the SDK, which sends each request once and reads no refusal."""
    return {
        "max_retries": 0,
        "timeout": httpx2.Timeout(None, connect=connect_seconds),
        "open_telemetry": False,
        "middleware": [_keep_refusals],
        "http_client": anthropic.DefaultAsyncHttpxClient(follow_redirects=False),
    }


def no_credential(error: Exception, hint: str) -> Unauthorized:
    """Translate the SDK's error for a credential that is missing, unreadable or not to be renewed."""
    return Unauthorized(f"the SDK: {shortened(' '.join(str(error).split()), 300)}", hint)


class _Refusal(Exception):
    """Carries an unsuccessful response past the SDK, which would read its body without a limit."""

    def __init__(self, response: "httpx2.Response") -> None:
        super().__init__(response.status_code)
        self.response = response


async def _keep_refusals(request: Any, proceed: Callable[[Any], Awaitable[Any]]) -> Any:
    answer = await proceed(request)
    response: httpx2.Response = getattr(answer, "http_response", answer)
    if not response.is_success:
        raise _Refusal(response)
    return answer


def _tls(base_url: str, route: Route) -> "ssl.SSLContext | bool":
    """Return the TLS context, only for https addresses, because loading the certificates takes time."""
    if urlsplit(base_url).scheme != "https":
        return False

    return ssl.create_default_context(cafile=route.ca_file) if route.ca_file else True
