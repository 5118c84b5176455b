"""`[mcp.NAME]` of the configuration: the user's servers."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from prunecli.util.frozen import frozen


@frozen
class McpLogin:
    """The login at a server that asks for one."""

    refused: ClassVar[str] = "it names programs to run; a project's servers are in .mcp.json"

    enabled: Annotated[bool, "Log in with OAuth if the server asks for it: /mcp login NAME."] = True
    client_id: Annotated[str, "The client id, if the server does not register clients by itself."] = ""
    callback_port: Annotated[
        int, "The port of the redirect http://localhost:PORT/callback registered for it; 0: any.", (0, 65535)
    ] = 0
    scopes: Annotated[tuple[str, ...], "Scopes to request instead of the server's."] = ()


@frozen
class McpServer:
    """An MCP server: a program to start (command) or an address (url). Values may contain ${VARIABLE} or
    ${VARIABLE:-default}; write secrets that way. Projects have
    .mcp.json."""

    refused: ClassVar[str] = "it names programs to run; a project's servers are in .mcp.json"
    example: ClassVar[Mapping[str, Any]] = {
        "": "my-server",
        "command": "npx",
        "args": ("-y", "@modelcontextprotocol/server-filesystem", "."),
        "env": {"API_TOKEN": "${API_TOKEN}"},
        "headers": {"Authorization": "Bearer ${API_TOKEN}"},
    }

    command: Annotated[str, "The program to start."] = ""
    args: Annotated[tuple[str, ...], "Its arguments."] = ()
    env: Annotated[
        Mapping[str, str],
        "Environment variables, besides PATH, HOME and a few more. prunecli's key is not passed on.",
    ] = field(default_factory=dict)
    cwd: Annotated[str, "The folder it runs in; empty: the current one."] = ""
    url: Annotated[str, "URL of a remote server: https, or http for this machine only."] = ""
    transport: Annotated[Literal["http", "sse"], "The protocol of this URL; sse is the older one."] = "http"
    headers: Annotated[Mapping[str, str], "Headers to send to it."] = field(default_factory=dict)
    oauth: Annotated[McpLogin, "Login for servers that require one."] = McpLogin()
    enabled: Annotated[bool, "Connect to this server."] = True
    timeout: Annotated[
        float, (0.1, 86_400), "Timeout in seconds for connecting, and for a call without progress."
    ] = 60.0

    def __post_init__(self) -> None:
        if self.command and self.url:
            raise ValueError("url: expected command or url, not both")
        if not self.command and not self.url:
            raise ValueError("command: expected command or url, got neither")


Servers: TypeAlias = Mapping[str, McpServer]
