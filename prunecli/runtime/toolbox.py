"""Which tools the model gets: the enabled names, with `prun` standing for both of its calls."""

from collections.abc import Iterable

from prunecli.errors import ConfigError, ToolError
from prunecli.tools.registry import load
from prunecli.tools.tool import Tool


def load_tools(enabled: Iterable[str]) -> dict[str, Tool]:
    """The tools by name, in the order given. Raises ConfigError for a name that is no tool."""
    tools: dict[str, Tool] = {}
    for name in enabled:
        for one in ("prun", "prun_with_memo") if name == "prun" else (name,):
            try:
                tool = load(one)
            except ToolError as error:
                raise ConfigError(f"tools.enabled: {error}") from error
            tools[tool.name] = tool
    return tools
