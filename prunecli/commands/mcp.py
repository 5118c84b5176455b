"""/mcp: what to use instead of MCP servers."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.runtime import Runtime

STAND_IN = True
"""Marks a command that only names a replacement, so it is listed last."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """MCP servers are not supported; run command-line programs through bash."""
    tools = ", ".join(runtime.tools)
    return [Say(f"prunecli has no MCP servers. Tools: {tools}. The agent can run any program with bash.")]
