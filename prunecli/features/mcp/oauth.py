"""Logs in to a server that is reached by HTTP: OAuth 2.1 with PKCE, through a redirect to this machine.

`quiet_auth` is for connections: it sends stored tokens and renews them, and raises `NeedsLogin` if only the user can
continue. `log_in` is for the user: it shows an address for a browser, waits for the redirect and stores the tokens.
The SDK does everything except the redirect, the file and the limits: discovery (RFC 9728, 8414), registration (RFC
7591), resource indicators (RFC 8707) and refresh. Imported only for a server behind a URL.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from prunecli.features.mcp.definition import Definition, OAuth, url_problem
from prunecli.features.mcp.logins import Login
from prunecli.features.mcp.quiet import keep_quiet
from prunecli.features.mcp.redirect import Redirect
from prunecli.util.errors import PrunecliError
from prunecli.util.sanitize import one_line, shortened

REQUEST_SECONDS = 30.0
PERSON_SECONDS = 300.0
"""Maximum seconds to wait for the login in the browser."""
EARLY_SECONDS = 30
"""Seconds before expiry at which tokens are renewed, so that none expires during a request."""
MAX_ANSWER = 1_000_000
_SHOWN = 300
_MARK = "prunecli.login"
_PUBLIC: Final = "none"
"""The client authentication of a program on a user's machine: it cannot keep a secret, and uses PKCE instead."""

_Model = TypeVar("_Model", bound=BaseModel)
ShowAddress = Callable[[str], Awaitable[None]]

keep_quiet()


class NeedsLogin(PrunecliError):
    """The server requires a login by the user."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} needs a login", f"run prunecli and /mcp login {name}")


class LoginFailed(PrunecliError):
    """The login failed. The message names the server and the reason."""


def may_log_in(definition: Definition) -> bool:
    """Return whether the user can log in to this server: it has a URL, and no credential in its headers."""
    given = any(name.lower() == "authorization" for name in definition.headers)
    return definition.transport != "stdio" and definition.oauth is not False and not given


def quiet_auth(definition: Definition, login: Login) -> httpx2.Auth | None:
    """Return the authentication of a connection; None for a server without one. `definition` is expanded."""
    if not may_log_in(definition):
        return None

    return _Provider(definition, login, _NOWHERE)


async def log_in(
    definition: Definition, login: Login, show: ShowAddress, *, seconds: float = PERSON_SECONDS
) -> None:
    """Log in and store the tokens. `show` is called with the address for the browser. Raises PrunecliError.

    Earlier tokens are removed first. The redirect of an earlier registration is reused if its port is free; otherwise
    the client registers again.
    """
    if not may_log_in(definition):
        why = "its headers hold a credential" if definition.oauth is not False else "oauth is off"
        raise LoginFailed(
            f"{definition.name}: cannot log in: {'it is a program' if not definition.url else why}"
        )
    kept = login.load()
    async with await _redirect(definition, kept) as redirect:
        if redirect.address not in _registered(kept):
            kept.pop("client", None)
        login.save({key: value for key, value in kept.items() if key == "client"})

        async def open_page(address: str) -> None:
            if url_problem(address):
                raise LoginFailed(
                    f"{definition.name}: the login page does not use https",
                    "contact the operator of the server",
                )
            redirect.expect(parse_qs(urlsplit(address).query).get("state", [""])[0])
            await show(address)

        async def answered() -> AuthorizationCodeResult:
            try:
                async with asyncio.timeout(seconds):
                    code, state, issuer = await redirect.wait()
            except TimeoutError:
                raise LoginFailed(f"{definition.name}: no login within {seconds:g} seconds") from None
            return AuthorizationCodeResult(code=code, state=state, iss=issuer)

        provider = _Provider(definition, login, redirect.address, open_page, answered)
        status = await _ask(definition, provider)
    if "tokens" not in login.load():
        raise LoginFailed(
            f"{definition.name}: the server did not ask for a login (status {status})",
            "use /mcp reconnect to connect",
        )


async def _redirect(definition: Definition, kept: dict[str, Any]) -> Redirect:
    """Return the redirect for the browser. Raises LoginFailed if a fixed port is in use."""
    oauth = definition.oauth if isinstance(definition.oauth, OAuth) else OAuth()
    if oauth.callback_port:
        try:
            return await Redirect.at(oauth.callback_port, "localhost")
        except OSError:
            raise LoginFailed(
                f"{definition.name}: the redirect port {oauth.callback_port} is in use",
                "free it, then try again",
            ) from None
    for address in _registered(kept):
        try:
            return await Redirect.at(urlsplit(address).port or 0)
        except (OSError, ValueError):
            pass
    return await Redirect.at(0)


def _registered(kept: dict[str, Any]) -> list[str]:
    client = _valid(OAuthClientInformationFull, kept.get("client"))
    return [str(address) for address in (client.redirect_uris if client else None) or ()]


async def _ask(definition: Definition, provider: "_Provider") -> int:
    """Send a request that needs no session, so that the server asks for the login. Raises PrunecliError."""
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {**definition.headers, "Accept": "application/json, text/event-stream"}
    name = definition.name
    try:
        async with (
            httpx2.AsyncClient(auth=provider, headers=headers, timeout=REQUEST_SECONDS) as client,
            client.stream("POST", definition.url, json=ping) as response,
        ):
            return response.status_code
    except PrunecliError:
        raise
    except httpx2.HTTPError as error:
        raise LoginFailed(f"{name}: cannot connect: {_short(error)}") from error
    except (OAuthFlowError, ValidationError, ValueError, httpx2.InvalidURL) as error:
        raise LoginFailed(f"{name}: login refused: {_short(error)}") from error


def _short(error: Exception) -> str:
    return shortened(one_line(" ".join(str(error).split()) or type(error).__name__), _SHOWN)


class _Storage:
    """The SDK's storage in the file of a login, with the expiry of the tokens and the address that renews them."""

    def __init__(self, definition: Definition, login: Login) -> None:
        self.login = login
        self.provider: _Provider | None = None
        self._client_id = definition.oauth.client_id if isinstance(definition.oauth, OAuth) else ""

    async def get_tokens(self) -> OAuthToken | None:
        return _valid(OAuthToken, self.login.load().get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        ends = time.time() + tokens.expires_in - EARLY_SECONDS if tokens.expires_in else None
        self._put("tokens", tokens.model_dump(mode="json", exclude_none=True), ends=ends)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._client_id:
            return OAuthClientInformationFull(client_id=self._client_id, token_endpoint_auth_method=_PUBLIC)
        return _valid(OAuthClientInformationFull, self.login.load().get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._put("client", client_info.model_dump(mode="json", exclude_none=True))

    def _put(self, key: str, value: Any, **more: Any) -> None:
        context = self.provider.context if self.provider else None
        found = {
            "server_metadata": context.oauth_metadata if context else None,
            "resource_metadata": context.protected_resource_metadata if context else None,
        }
        known = {
            name: model.model_dump(mode="json", exclude_none=True) for name, model in found.items() if model
        }
        self.login.save({**self.login.load(), **known, key: value, **more})


class _Provider(OAuthClientProvider):
    """The SDK's flow with additions: no request without TLS, a limit on each answer, and scopes that the user chose.
    A process that did not log in itself can also renew tokens, since the SDK does not store their expiry and where to
    renew them."""

    def __init__(
        self,
        definition: Definition,
        login: Login,
        redirect: str,
        show: ShowAddress | None = None,
        answered: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
    ) -> None:
        storage = _Storage(definition, login)
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(redirect)],
            client_name="prunecli",
            token_endpoint_auth_method=_PUBLIC,
            application_type="native",
        )
        super().__init__(definition.url, metadata, storage, show, answered)
        storage.provider = self
        self._login = login
        self._definition = definition
        self._quiet = show is None

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Yield each request in the flow after checking it. Raises LoginFailed. If no page can be shown to a user,
        raises NeedsLogin before anything is registered."""
        if not self.context.is_token_valid():
            self._initialized = False  # another process may have renewed them
        flow = super().async_auth_flow(request)
        renewed = False
        try:
            outgoing = await anext(flow)
            while True:
                if url_problem(str(outgoing.url.copy_with(query=None, fragment=None))):
                    raise LoginFailed(f"{self._definition.name}: {outgoing.url.host} needs https")
                response = yield outgoing if outgoing is request else _marked(outgoing)
                if outgoing is not request:
                    await _read(response)
                elif response.status_code == 401 and self.context.can_refresh_token() and not renewed:
                    renewed = True  # ended early, or revoked
                    answer = yield _marked(await self._refresh_token())
                    await _read(answer)
                    if await self._handle_refresh_response(answer):
                        self._add_auth_header(request)
                        response = yield request
                if self._quiet and outgoing is request:
                    if response.status_code == 401:
                        raise NeedsLogin(self._definition.name)
                    return
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _initialize(self) -> None:
        await super()._initialize()
        kept, context = self._login.load(), self.context
        ends = kept.get("ends")
        context.token_expiry_time = ends if isinstance(ends, int | float) else None
        context.oauth_metadata = _valid(OAuthMetadata, kept.get("server_metadata"))
        context.protected_resource_metadata = _valid(ProtectedResourceMetadata, kept.get("resource_metadata"))

    async def _perform_authorization(self) -> httpx2.Request:
        oauth = self._definition.oauth
        if isinstance(oauth, OAuth) and oauth.scopes:
            self.context.client_metadata.scope = " ".join(oauth.scopes)
        return await super()._perform_authorization()


def _marked(request: httpx2.Request) -> httpx2.Request:
    """Mark a request in the flow, so that `of_login` can tell it from requests to the server itself."""
    request.extensions = {**request.extensions, _MARK: True}
    return request


def of_login(request: httpx2.Request) -> bool:
    return _MARK in request.extensions


_NOWHERE = "http://127.0.0.1/callback"
"""The redirect of connections, which is never used."""


async def _read(response: httpx2.Response) -> None:
    """Read an answer in the flow, up to a limit. Raises LoginFailed."""
    length, chunks = 0, []
    async for chunk in response.aiter_bytes():
        length += len(chunk)
        if length > MAX_ANSWER:
            raise LoginFailed(f"{response.request.url.host}: its answer is longer than {MAX_ANSWER:,} bytes")
        chunks.append(chunk)
    response._content = b"".join(chunks)  # what `aread` sets


def _valid(model: type[_Model], value: Any) -> _Model | None:
    """Return the value as a model of the SDK, or None if it is damaged."""
    try:
        return model.model_validate(value) if value is not None else None
    except ValidationError:
        return None
