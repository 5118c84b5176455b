"""prunecli as a library: the agent with events, permissions and steering, and the pruning engine on plain messages.

    from prunecli.library import Agent, TextDelta

    async with Agent(cwd="project", trust=True, permissions=lambda asked: asked.call.name != "bash") as agent:
        async for event in agent.run("Fix the test"):
            if isinstance(event, TextDelta):
                print(event.text, end="")

    from prunecli.library import Pruner
    pruner = Pruner("pi", window=200_000, prune_protect=20_000)
    shorter = pruner.request(messages)      # before each request; earlier edits stay

Errors are `PrunecliError`s. docs/library.md shows whole programs.
"""

from prunecli.agent.asking import Answer, Asked
from prunecli.context.ledger import Ledger
from prunecli.library.agent import Agent, Permissions, ask
from prunecli.library.events import AgentEvent, Compacted, Figures, Finished, Message, Pruned, Restored
from prunecli.library.pruner import Pruner, prune_messages
from prunecli.model.events import ToolResult
from prunecli.model.messages import Block, Image, Text, ToolUse, Usage
from prunecli.model.signals import Notice, StreamDiscarded, TextDelta, ThinkingDelta, ToolProgress
from prunecli.model.touches import Touches
from prunecli.tools.tool import Tool, ToolContext, ToolOutput, text_output
from prunecli.util.errors import (
    ConfigError,
    ProviderError,
    PrunecliError,
    SessionError,
    SessionNotFound,
    ToolError,
    UsageError,
)

__all__ = [
    "Agent",
    "AgentEvent",
    "Answer",
    "Asked",
    "Block",
    "Compacted",
    "ConfigError",
    "Figures",
    "Finished",
    "Image",
    "Ledger",
    "Message",
    "Notice",
    "Permissions",
    "ProviderError",
    "PrunecliError",
    "Pruned",
    "Pruner",
    "Restored",
    "SessionError",
    "SessionNotFound",
    "StreamDiscarded",
    "Text",
    "TextDelta",
    "ThinkingDelta",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolOutput",
    "ToolProgress",
    "ToolResult",
    "ToolUse",
    "Touches",
    "Usage",
    "UsageError",
    "ask",
    "prune_messages",
    "text_output",
]
