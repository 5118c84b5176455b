"""An MCP server over HTTP behind an authorization server."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer

from tests.mcp.authorization import Authorization
from tests.waiting import until


@asynccontextmanager
async def guarded(server: Authorization) -> AsyncIterator[uvicorn.Server]:
    """Serve a tool over HTTP, with the SDK, to those with a token of an authorization server."""

    class Verifier:
        async def verify_token(self, token: str) -> AccessToken | None:
            known = token in server.access
            return (
                AccessToken(token=token, client_id="c", scopes=["read"], resource=server.url)
                if known
                else None
            )

    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        server.resource = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        settings = AuthSettings(
            issuer_url=server.base,
            resource_server_url=server.url,
            required_scopes=["read"],
            validate_token_resource=True,
        )
        made = MCPServer("hub", token_verifier=Verifier(), auth=settings)
        made.add_tool(lambda: "secret notes", name="notes", description="Read the notes.")
        running = uvicorn.Server(uvicorn.Config(made.streamable_http_app(), log_level="critical"))
        thread = threading.Thread(target=lambda: asyncio.run(running.serve([listening])))
        thread.start()
        try:
            await until(lambda: running.started)
            yield running
        finally:
            running.should_exit = True
            await asyncio.to_thread(thread.join)
