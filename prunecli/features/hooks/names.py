"""Claude Code's names of prunecli's tools, inputs, results and modes, for hooks and other definitions.

Public hook configurations match `Edit|Write` and read `tool_input.file_path`. One table serves both directions.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prunecli.model.messages import Json
from prunecli.runtime.claude_code import TOOLS

_KEYS: Mapping[str, Mapping[str, str]] = {
    "bash": {"background": "run_in_background"},
    "read": {"path": "file_path"},
    "write": {"path": "file_path"},
    "edit": {"path": "file_path"},
    "grep": {"ignore_case": "-i", "context": "-C"},
}
"""The keys of inputs that are spelled differently: prunecli's, then Claude Code's."""

MODES: Mapping[str, str] = {
    "ask": "default",
    "edits": "acceptEdits",
    "plan": "plan",
    "auto": "bypassPermissions",
}
"""The permission modes in Claude Code's spelling."""

MCP_CALL = "mcp_call"
"""The tool that calls a tool of an MCP server. Hooks see the server's tool, as `mcp__server__tool`."""


def tool_name(name: str, given: Mapping[str, Json]) -> str:
    if name == MCP_CALL:
        return f"mcp__{given.get('server', '')}__{given.get('tool', '')}"
    return TOOLS.get(name, name)


def tool_names(name: str, given: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the names that a matcher may use for a tool: Claude Code's and prunecli's."""
    newer = ("Agent",) if name == "task" else ()
    return tuple(dict.fromkeys((tool_name(name, given), *newer, name)))


def input_for_hooks(name: str, given: Mapping[str, Json], cwd: Path) -> dict[str, Json]:
    """Return a call's input with Claude Code's keys: absolute paths, time in milliseconds."""
    if name == MCP_CALL:
        inner = given.get("arguments")
        return dict(inner) if isinstance(inner, Mapping) else {}
    keys = _KEYS.get(name, {})
    found = {keys.get(key, key): value for key, value in given.items()}
    for key in ("file_path", "path"):
        if name in TOOLS and isinstance(found.get(key), str):
            found[key] = os.path.normpath(cwd / str(found[key])) if found[key] else found[key]
    if name == "bash" and isinstance(timeout := found.get("timeout"), int | float):
        found["timeout"] = round(timeout * 1000)
    return found


def input_from_hooks(name: str, given: Mapping[str, Json], changed: Mapping[str, Json]) -> dict[str, Json]:
    """Return a call's input after a hook changed it, in either spelling. Keys that it leaves out stay."""
    if name == MCP_CALL:
        inner = given.get("arguments")
        before = inner if isinstance(inner, Mapping) else {}
        return {**given, "arguments": {**before, **changed}}
    ours = {theirs: key for key, theirs in _KEYS.get(name, {}).items()}
    found: dict[str, Any] = {ours.get(key, key): value for key, value in changed.items()}
    if name == "bash" and isinstance(timeout := found.get("timeout"), int | float) and "timeout" in changed:
        found["timeout"] = timeout / 1000
    return {**given, **found}


def response_for_hooks(name: str, given: Mapping[str, Json], text: str, cwd: Path) -> dict[str, Json]:
    """Return a result in the form of Claude Code's tools. `content` is always its text."""
    path = input_for_hooks(name, given, cwd).get("file_path")
    if name == "bash":
        more: dict[str, Json] = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
    elif name == "read":
        more = {"type": "text", "file": {"filePath": path, "content": text}}
    elif name in ("write", "edit"):
        more = {"filePath": path, "success": True}
    else:
        more = {}
    return {"content": text, **more}
