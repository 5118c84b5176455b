"""mcp_search: find tools of MCP servers by words. The best matches come with their schemas."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.tools.tool import ToolContext, ToolOutput, in_one_line, text_output
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

if TYPE_CHECKING:
    from prunecli.features.mcp.servers import RemoteServers

NO_SERVERS = "No MCP servers are configured."


@frozen
class McpSearchInput:
    words: Annotated[str, "words, or server:tool for its whole schema"] = ""


class McpSearch:
    """The `mcp_search` tool. The schemas are part of its result, so they cost nothing until they are needed."""

    name: ClassVar[str] = "mcp_search"
    description: ClassVar[str] = (
        "Find tools of the MCP servers named in notices: names, descriptions, and the best matches' schemas."
    )
    parallel: ClassVar[bool] = True
    Input: ClassVar[type] = McpSearchInput

    def summary(self, given: Mapping[str, Json]) -> str:
        return in_one_line(given.get("words"))

    def touches(self, _: object) -> Touches:
        """Return no touches: the tools of the servers are already known."""
        return Touches()

    async def run(self, given: McpSearchInput, context: ToolContext) -> ToolOutput:
        return text_output(await servers_of(context).search(given.words))


def servers_of(context: ToolContext) -> "RemoteServers":
    """Return the servers of the session. Raises ToolError if none are configured."""
    servers: RemoteServers | None = context.parts.get("mcp")
    if servers is None:
        raise ToolError(NO_SERVERS)
    return servers
