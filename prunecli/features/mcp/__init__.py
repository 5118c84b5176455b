"""Servers of the Model Context Protocol: their definitions, connections and tools.

This is the only package that imports the SDK (`mcp`), and only when a server is about
to start.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.plugins.app import App


def install(app: "App") -> None:
    app.tool("prunecli.features.mcp.search_tool:McpSearch", "mcp_search", switch="mcp")
    app.tool("prunecli.features.mcp.call_tool:McpCall", "mcp_call", switch="mcp")
    app.command("mcp", "prunecli.features.mcp.command")
    app.subcommand(
        "mcp",
        "prunecli.features.mcp.subcommand:app",
        "Add, list and remove MCP servers.",
        flags=("--set", "--trust"),
    )
    app.options(
        "mcp",
        "prunecli.features.mcp.options:Servers",
        check="prunecli.features.mcp.definition:wrong",
        display="prunecli.features.mcp.starting:displayed",
    )
    app.check("prunecli.features.mcp.starting:findings")
    app.part("mcp", "prunecli.features.mcp.part:McpServers")
