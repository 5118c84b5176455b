"""A small, strict authorization server on loopback, with an MCP address that it guards.

It follows the letter: exact redirects, PKCE with S256, one use of each code, the resource indicator in both requests,
refresh tokens that change with each use. What it refuses stands in `refused`.
"""

import asyncio
import base64
import hashlib
import json
import secrets
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2


@dataclass
class Authorization:
    """The server. Tests change its fields to make it misbehave."""

    base: str = ""
    resource: str = ""
    """The guarded address, if another server guards it."""
    registers: bool = True
    denies: bool = False
    expires_in: int | None = 3600
    foreign_state: bool = False
    foreign_issuer: bool = False
    pages: str = ""
    """Another address for its login page."""
    long_answer: bool = False
    clients: dict = field(default_factory=dict)
    codes: dict = field(default_factory=dict)
    access: set = field(default_factory=set)
    refresh: dict = field(default_factory=dict)
    requests: list = field(default_factory=list)
    refused: list = field(default_factory=list)
    scopes: list = field(default_factory=list)

    @property
    def url(self) -> str:
        """The guarded address, which is the resource."""
        return self.resource or f"{self.base}/mcp"

    async def browse(self, address: str) -> None:
        """A browser whose user agrees at once."""
        async with httpx2.AsyncClient(follow_redirects=True) as client:
            await client.get(address)

    def answer(self, method: str, target: str, headers: dict, body: bytes) -> tuple[int, dict, object]:
        """Status, headers and JSON of one request."""
        parts = urlsplit(target)
        self.requests.append(f"{method} {parts.path}")
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        match method, parts.path:
            case "POST", "/mcp":
                return self._guarded(headers)
            case "GET", "/.well-known/oauth-protected-resource/mcp":
                return 200, {}, {"resource": self.url, "authorization_servers": [self.base]}
            case "GET", "/.well-known/oauth-authorization-server":
                return 200, {}, self._metadata()
            case "POST", "/register" if self.registers:
                return self._register(json.loads(body))
            case "GET", "/authorize":
                return self._authorize(query)
            case "POST", "/token":
                return self._token(form)
            case _:
                return 404, {}, {}

    def _guarded(self, headers: dict) -> tuple[int, dict, object]:
        if headers.get("authorization", "").removeprefix("Bearer ") in self.access:
            return 200, {}, {"jsonrpc": "2.0", "id": 1, "result": {}}
        where = f"{self.base}/.well-known/oauth-protected-resource/mcp"
        return 401, {"WWW-Authenticate": f'Bearer resource_metadata="{where}", scope="read"'}, {}

    def _metadata(self) -> dict:
        found = {
            "issuer": self.base,
            "authorization_endpoint": self.pages or f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        if self.registers:
            found["registration_endpoint"] = f"{self.base}/register"
        if self.long_answer:
            found["service_documentation"] = f"{self.base}/{'x' * 2_000_000}"
        return found

    def _register(self, asked: dict) -> tuple[int, dict, object]:
        if any(not one.startswith("http://127.0.0.1:") for one in asked["redirect_uris"]):
            return self._refuse("invalid_redirect_uri")
        client = f"client-{len(self.clients)}"
        self.clients[client] = list(asked["redirect_uris"])
        return 201, {}, {**asked, "client_id": client}

    def _authorize(self, query: dict) -> tuple[int, dict, object]:
        redirect = query.get("redirect_uri", "")
        if redirect not in self.clients.get(query.get("client_id"), ()):
            return self._refuse("redirect_uri")
        wanted = {"response_type": "code", "code_challenge_method": "S256", "resource": self.url}
        if (
            any(query.get(name) != value for name, value in wanted.items())
            or len(query.get("state", "")) < 16
        ):
            return self._refuse("invalid_request")
        self.scopes.append(query.get("scope"))
        code = secrets.token_urlsafe()
        self.codes[code] = query
        back = {"state": query["state"], "iss": "https://evil.example" if self.foreign_issuer else self.base}
        back |= {"error": "access_denied"} if self.denies else {"code": code}
        if self.foreign_state:
            back["state"] = "another"
        return 302, {"Location": f"{redirect}?{urlencode(back)}"}, {}

    def _token(self, form: dict) -> tuple[int, dict, object]:
        if form.get("resource") != self.url:
            return self._refuse("invalid_target")
        if form.get("grant_type") == "refresh_token":
            client = self.refresh.pop(form.get("refresh_token"), None)
            return (
                self._issue(client) if client == form.get("client_id") and client else self._refuse("refresh")
            )
        asked = self.codes.pop(form.get("code"), None)
        if asked is None or any(asked[key] != form.get(key) for key in ("client_id", "redirect_uri")):
            return self._refuse("invalid_grant")
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"]:
            return self._refuse("pkce")
        return self._issue(form["client_id"])

    def _issue(self, client: str) -> tuple[int, dict, object]:
        access, refresh = f"access-{secrets.token_urlsafe()}", f"refresh-{secrets.token_urlsafe()}"
        self.access.add(access)
        self.refresh[refresh] = client
        found = {"access_token": access, "token_type": "bearer", "refresh_token": refresh, "scope": "read"}
        return 200, {}, found | ({"expires_in": self.expires_in} if self.expires_in is not None else {})

    def _refuse(self, why: str) -> tuple[int, dict, object]:
        self.refused.append(why)
        return 400, {}, {"error": why}


@asynccontextmanager
async def authorization():
    """A running server."""
    server = Authorization()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            status, more, answer = server.answer(method, target, headers, body)
            data = json.dumps(answer).encode()
            lines = {
                "Content-Type": "application/json",
                "Content-Length": len(data),
                "Connection": "close",
                **more,
            }
            head_back = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
            writer.write(f"HTTP/1.1 {status} X\r\n{head_back}\r\n".encode() + data)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, limit=100_000)
    server.base = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()
