"""MCP servers from the editor. The user configured them there, so they need no approval here."""

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from prunecli.runtime import Runtime
from prunecli.runtime.parts import GivenServer
from prunecli.util.sanitize import one_line

ClientServer: TypeAlias = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio


def use_servers(runtime: Runtime, servers: Iterable[ClientServer]) -> list[str]:
    """Add the editor's servers to those of the runtime. Returns a notice for each that can't be used."""
    given: list[GivenServer] = []
    problems: list[str] = []
    for server in servers:
        match server:
            case McpServerStdio(name=name, command=command, args=args, env=env):
                variables = {one.name: one.value for one in env}
                given.append(GivenServer(name, "stdio", command, tuple(args), variables))
            case HttpMcpServer(name=name, url=url, headers=headers):
                given.append(
                    GivenServer(
                        name, "http", url=url, headers={header.name: header.value for header in headers}
                    )
                )
            case SseMcpServer(name=name, url=url, headers=headers):
                given.append(
                    GivenServer(
                        name, "sse", url=url, headers={header.name: header.value for header in headers}
                    )
                )
            case AcpMcpServer(name=name):
                problems.append(
                    f"MCP server not used: {one_line(name)}: servers inside the editor are not supported"
                )
            case _:
                assert_never(server)
    return [*problems, *runtime.parts.gather(lambda part: part.use_servers(given))]
