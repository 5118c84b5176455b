"""mcp_call: call a tool of an MCP server."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, ClassVar

from prunecli.features.mcp.search_tool import servers_of
from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line
from prunecli.util.frozen import frozen


@frozen
class McpCallInput:
    server: str
    tool: str
    arguments: Annotated[dict, "as its schema says"] = field(default_factory=dict)  # type: ignore[type-arg]


class McpCall:
    """The `mcp_call` tool. The effects of a server's tool are unknown, so each call needs approval unless a rule
    names it."""

    name: ClassVar[str] = "mcp_call"
    description: ClassVar[str] = "Call a tool of an MCP server, found with mcp_search."
    parallel: ClassVar[bool] = False
    Input: ClassVar[type] = McpCallInput

    def summary(self, given: Mapping[str, Json]) -> str:
        arguments = given.get("arguments")
        words = (
            " ".join(f"{name}={in_one_line(value)}" for name, value in arguments.items())
            if isinstance(arguments, dict)
            else ""
        )
        return f"{in_one_line(given.get('server'))}:{in_one_line(given.get('tool'))} {words}".rstrip()

    def touches(self, given: McpCallInput) -> Touches:
        return Touches(calls=(f"{given.server}:{given.tool}",))

    def check(self, given: McpCallInput, context: ToolContext) -> None:
        """Raise ToolError if the server is off or failed, or does not have the tool."""
        servers_of(context).check(given.server, given.tool)

    async def run(self, given: McpCallInput, context: ToolContext) -> ToolOutput:
        servers = servers_of(context)
        return await servers.call(given.server, given.tool, given.arguments, context.progress)
