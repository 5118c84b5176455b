"""Definitions of subagents: the built-in ones, and Markdown files with front matter.

The body is the system prompt. The front matter has Claude Code's fields: name, description, tools, disallowedTools,
model, maxTurns. Other fields are ignored, and a problem says so.
"""

from dataclasses import dataclass

INHERIT = "inherit"
SMALL = "small"
"""The small model of the session's own kind, else the session's model."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A subagent. `tools` are its tools by our names, None for all; `model` is a name, an alias, INHERIT or SMALL;
    `origin` says where it is defined."""

    name: str
    description: str
    body: str = ""
    tools: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    model: str = INHERIT
    max_turns: int | None = None
    origin: str = "built in"

    def takes(self, tool: str) -> bool:
        """Whether it has this tool."""
        return (self.tools is None or tool in self.tools) and tool not in self.without


EXPLORE = Definition(
    "explore",
    "looks around and answers questions about the project; read-only, on a small model",
    "You look around in a project to answer a question about it. You only read: search broadly first, then read what "
    "matters, and stop once you know. Calls that do not depend on each other go in one message.",
    ("read", "grep", "find", "ls"),
    model=SMALL,
)

GENERAL = Definition("", "the session's own tools and model")
"""What works on a task that names no agent."""
