"""/mcp: other agents have it; what to use here."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.runtime import Runtime

STAND_IN = True
"""It only says what to use here, so it is listed last."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """MCP servers: not supported; command-line tools work through bash."""
    tools = ", ".join(runtime.tools)
    return [Say(f"prunecli has no MCP servers. Tools: {tools}. Any command-line program works through bash.")]
