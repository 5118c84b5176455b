"""/mcp: the MCP servers of this session."""

import json
from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, Table
from prunecli.figures import short
from prunecli.mcp.state import Server
from prunecli.runtime import Runtime

NONE = "No MCP servers. Add [mcp.NAME] to the config, or .mcp.json to the project, then /reload."
ACTIONS = ("reconnect", "disable", "enable")


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Show MCP servers; /mcp NAME shows tools and log, /mcp reconnect|disable|enable NAME."""
    servers = runtime.servers
    servers.prepare()
    if not servers.servers:
        return [Say(NONE)]
    word, _, name = arguments.partition(" ")
    if not word:
        return [_all(runtime, servers.servers)]
    action, wanted = (word, name.strip()) if word in ACTIONS and name.strip() else ("", arguments)
    found = servers.named(wanted)
    if found is None:
        known = ", ".join(one.name for one in servers.servers)
        return [Say(f"No MCP server named {wanted!r}. Servers: {known}.", "error")]
    match action:
        case "reconnect":
            servers.restart(wanted)
            return [Say(f"Connecting to {wanted} again. /mcp shows how it is.")]
        case "disable" | "enable":
            servers.switch(wanted, on=action == "enable")
            return [Say(f"{wanted} is {'on' if action == 'enable' else 'off'} in this session.")]
        case _:
            return _one(runtime, found)


def _all(runtime: Runtime, servers: Sequence[Server]) -> Table:
    rows = tuple(
        (one.name, one.state, one.transport, str(len(one.offer.tools)), short(_tokens(runtime, one)), one.why)
        for one in servers
    )
    note = "Tokens are those of all its tools; only those that mcp_search finds are sent. /mcp NAME for more."
    headings = ("server", "state", "transport", "tools", "tokens", "")
    return Table("MCP servers", headings, rows, right=(3, 4), note=note)


def _one(runtime: Runtime, server: Server) -> list[Effect]:
    rows = [
        (tool.name, short(_count(runtime, tool.name, tool.schema)), tool.description)
        for tool in server.offer.tools
    ]
    facts = [
        f"{server.name}: {server.state}{f', {server.why}' if server.why else ''}",
        f"{server.transport}, from {server.origin}" if server.origin else server.transport,
        f"resources: {len(server.offer.resources)}, prompts: {len(server.offer.prompts)}",
    ]
    said: list[Effect] = [
        Table(f"MCP server {server.name}", ("tool", "tokens", "about"), tuple(rows), right=(1,))
    ]
    log = [f"Log:\n{chr(10).join(server.log[-20:])}"] if server.log else []
    return [Say("\n".join([*facts, *log])), *(said if rows else [])]


def _tokens(runtime: Runtime, server: Server) -> int:
    return sum(_count(runtime, tool.name, tool.schema, tool.description) for tool in server.offer.tools)


def _count(runtime: Runtime, name: str, schema: object, description: str = "") -> int:
    """The tokens of a tool's definition; a long one is estimated by its characters."""
    text = f"{name} {description} {json.dumps(schema)}"
    return len(text) // 4 if len(text) > 20_000 else runtime.session.context.counts.counter.count(text)
