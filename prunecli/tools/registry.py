"""Finds the tools. A core tool is a module of the same name in this package; features and plugins bring the others,
and may bring one in the place of a core tool.

Listing needs no import; a tool's module is imported on first use.
"""

import importlib
from collections.abc import Container, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.plugins.app import Installed
from prunecli.plugins.features import features
from prunecli.util.errors import ToolError
from prunecli.util.near import near
from prunecli.util.paths import names_in

if TYPE_CHECKING:
    from prunecli.tools.tool import Tool

ALIASES = {
    "read_file": "read",
    "write_file": "write",
    "edit_file": "edit",
    "search": "grep",
    "list_files": "ls",
}
"""phi-core's names, which `[tools] enabled` also accepts."""

CORE = ("bash", "read", "write", "edit", "grep", "find", "ls", "prun", "recall")
"""The core tools in the order of a request; `prun` stands for two."""

_NOT_TOOLS = ("asking", "inputs", "registry", "tool")


def canonical(name: str) -> str:
    return ALIASES.get(name, name)


def default(installed: Installed | None = None) -> tuple[str, ...]:
    """Return the names that `[tools] enabled` has by default."""
    brought = (installed or features()).of("tool").values()
    return tuple(dict.fromkeys((*CORE, *(one.facts["switch"] for one in brought if one.facts["enabled"]))))


def switches(installed: Installed | None = None) -> dict[str, tuple[str, ...]]:
    """Return the names for `[tools] enabled`, each with the tools that it enables."""
    found: dict[str, tuple[str, ...]] = {name: (name,) for name in own() if name != "prun_with_memo"}
    found["prun"] = ("prun", "prun_with_memo")
    for name, one in (installed or features()).of("tool").items():
        switch = one.facts["switch"]
        found[switch] = tuple(dict.fromkeys((*found.get(switch, ()), name)))
    return found


def off_switches(installed: Installed) -> frozenset[str]:
    """Return the names for `[tools] enabled` of features and plugins that are switched off."""
    known, there = installed.known("tool"), (*own(), *installed.of("tool"))
    gone = [(name, one.facts["switch"]) for name, one in known.items() if name not in there]
    return frozenset(name for both in gone for name in both)


def own() -> tuple[str, ...]:
    """Return the names of the core's tools."""
    return tuple(name for name in names_in(Path(__file__).parent, ".py") if name not in _NOT_TOOLS)


def names(installed: Installed | None = None) -> tuple[str, ...]:
    """Return the names of all tools, those of features and plugins last."""
    return tuple(dict.fromkeys((*own(), *(installed or features()).of("tool"))))


def not_enabled(
    wanted: Iterable[str], enabled: Container[str], installed: Installed | None = None
) -> list[str]:
    """Return the existing tools and pairs among these names that are not enabled."""
    known = {**{name: (name,) for name in names(installed)}, **switches(installed)}
    return [one for one in wanted if one in known and not any(part in enabled for part in known[one])]


def load(name: str, installed: Installed | None = None) -> "Tool":
    """Load a tool by name or alias. Raises a ToolError that suggests the nearest name."""
    return _load(canonical(name), installed or features())


@cache
def _load(wanted: str, installed: Installed) -> "Tool":
    if brought := installed.of("tool").get(wanted):
        made = brought.load()
        tool: Tool = made() if isinstance(made, type) else made
        return tool
    if wanted not in own():
        known = names(installed)
        found = near(wanted, known)
        hint = f"did you mean {found}?" if found else f"there are {', '.join(known)}."
        raise ToolError(f"There is no tool {wanted!r}; {hint}")
    module = importlib.import_module(f"prunecli.tools.{wanted}")
    for value in vars(module).values():
        if isinstance(value, type) and getattr(value, "name", None) == wanted:
            core: Tool = value()
            return core
    raise ImportError(f"{module.__name__} defines no tool class named {wanted!r}")
