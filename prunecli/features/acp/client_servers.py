"""MCP servers from the editor. The user configured them there, so they need no approval here.

Like all servers, they run only in a trusted directory. If config.toml has a server of the same name, that one is
used, because rules may refer to it.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from prunecli.features.mcp.definition import Definition
from prunecli.features.mcp.servers import RemoteServers, configured
from prunecli.runtime import Runtime
from prunecli.util.errors import ConfigError
from prunecli.util.sanitize import one_line

if TYPE_CHECKING:
    from prunecli.features.mcp.hub import Wanted

ClientServer: TypeAlias = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio
ORIGIN = "the editor"


def use_servers(runtime: Runtime, given: Iterable[ClientServer]) -> list[str]:
    """Add the editor's servers to those of the runtime. Returns a notice for each that can't be used."""
    definitions: list[Definition] = []
    problems: list[str] = []
    for server in given:
        try:
            definitions.append(_definition(server))
        except ConfigError as error:
            problems.append(f"MCP server not used: {one_line(error.message)}")
    if not definitions:
        return problems
    taken = sorted({one.name for one in definitions} & runtime.config.mcp.keys())
    problems += [
        f"MCP server {one_line(name)}: the server of this name in config.toml is used instead"
        for name in taken
    ]
    ours = [one for one in definitions if one.name not in taken]

    def load() -> "Sequence[Wanted]":
        from prunecli.features.mcp.hub import Wanted

        names = {one.name for one in ours}
        own = [one for one in configured(runtime) if one.definition.name not in names]
        return [*own, *map(Wanted, ours)]

    runtime.parts.of(RemoteServers).load = load
    if not runtime.gatekeeper.trusted and ours:
        problems.append("The editor's MCP servers start once this folder is trusted.")
    return problems


def _definition(server: ClientServer) -> Definition:
    """Convert the editor's server to a definition. Raises ConfigError."""
    match server:
        case McpServerStdio(name=name, command=command, args=args, env=env):
            made = Definition(
                name,
                command=command,
                args=tuple(args),
                env={one.name: one.value for one in env},
                origin=ORIGIN,
            )
        case HttpMcpServer(name=name, url=url, headers=headers):
            sent = {one.name: one.value for one in headers}
            made = Definition(name, "http", url=url, headers=sent, origin=ORIGIN)
        case SseMcpServer(name=name, url=url, headers=headers):
            sent = {one.name: one.value for one in headers}
            made = Definition(name, "sse", url=url, headers=sent, origin=ORIGIN)
        case AcpMcpServer(name=name):
            raise ConfigError(f"{name}: servers inside the editor are not supported")
    made.check()
    return made
