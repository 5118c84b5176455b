"""Which tools there are: every module of this package but `tool` and this one, named as the tool is.

Listing needs no import; a tool's module is imported when the tool is first asked for.
"""

import importlib
from functools import cache
from pathlib import Path

from prunecli.errors import ToolError
from prunecli.tools.tool import Tool

ALIASES = {
    "read_file": "read",
    "write_file": "write",
    "edit_file": "edit",
    "search": "grep",
    "list_files": "ls",
}
"""phi-core's names, which `[tools] enabled` takes too."""

_NOT_TOOLS = ("registry", "tool")


def canonical(name: str) -> str:
    """The tool's own name, for an alias too."""
    return ALIASES.get(name, name)


def names() -> tuple[str, ...]:
    """The names of all tools, sorted."""
    found = {path.stem for path in Path(__file__).parent.glob("[a-z]*.py")}
    return tuple(sorted(found.difference(_NOT_TOOLS)))


def load(name: str) -> Tool:
    """The tool of that name or alias. Raises ToolError, with the nearest name, when there is none."""
    return _load(canonical(name))


@cache
def _load(wanted: str) -> Tool:
    if wanted not in names():
        from difflib import get_close_matches

        near = get_close_matches(wanted, names(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names())}."
        raise ToolError(f"There is no tool {wanted!r}; {hint}")
    module = importlib.import_module(f"prunecli.tools.{wanted}")
    for value in vars(module).values():
        if isinstance(value, type) and getattr(value, "name", None) == wanted:
            tool: Tool = value()
            return tool
    raise ImportError(f"{module.__name__} defines no class with name {wanted!r}")
