"""Finds the tools. Each tool has a module of the same name in this package, beside `tool` and this module.

Listing needs no import; a tool's module is imported on first use.
"""

import importlib
from collections.abc import Container, Iterable
from functools import cache
from pathlib import Path

from prunecli.errors import ToolError
from prunecli.paths import names_in
from prunecli.tools.tool import Tool

ALIASES = {
    "read_file": "read",
    "write_file": "write",
    "edit_file": "edit",
    "search": "grep",
    "list_files": "ls",
}
"""phi-core's names, which `[tools] enabled` also accepts."""

PAIRS = {"prun": ("prun", "prun_with_memo"), "mcp": ("mcp_search", "mcp_call")}
"""Names in `[tools] enabled` that enable two tools."""

_NOT_TOOLS = ("inputs", "registry", "tool")


def canonical(name: str) -> str:
    return ALIASES.get(name, name)


def names() -> tuple[str, ...]:
    return tuple(name for name in names_in(Path(__file__).parent, ".py") if name not in _NOT_TOOLS)


def not_enabled(wanted: Iterable[str], enabled: Container[str]) -> list[str]:
    """Return the existing tools and pairs among these names that are not enabled."""
    parts = {one: PAIRS.get(one, (one,)) for one in wanted if one in PAIRS or one in names()}
    return [one for one, each in parts.items() if not any(part in enabled for part in each)]


def load(name: str) -> Tool:
    """Load a tool by name or alias. Raises a ToolError that suggests the nearest name."""
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
    raise ImportError(f"{module.__name__} defines no tool class named {wanted!r}")
