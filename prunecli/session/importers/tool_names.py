"""Maps the tools and arguments of other agents to prunecli's, so strategies that name tools apply to them.

A call without an equivalent keeps its name. The result's details keep the original name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from prunecli.model.events import AssistantMessage, Event, ToolResult, ToolStarted
from prunecli.model.messages import Json, ToolUse, tool_uses
from prunecli.model.requests import own_name
from prunecli.model.touches import Touches, named

_PATHS = {"file_path": "path", "filePath": "path", "filename": "path"}
_TOOLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "read": ("read", _PATHS),
    "read_file": ("read", _PATHS),
    "view": ("read", _PATHS),
    "bash": ("bash", {"cmd": "command"}),
    "shell": ("bash", {"cmd": "command"}),
    "exec": ("bash", {"input": "command", "cmd": "command"}),
    "exec_command": ("bash", {"cmd": "command"}),
    "local_shell_call": ("bash", {"cmd": "command"}),
    "run_shell_command": ("bash", {}),
    "grep": ("grep", {"include": "glob", "-i": "ignore_case"}),
    "search": ("grep", {}),
    "search_file_content": ("grep", {}),
    "glob": ("find", {}),
    "find": ("find", {}),
    "find_files": ("find", {}),
    "ls": ("ls", {}),
    "list_files": ("ls", {}),
    "list_directory": ("ls", {}),
    "edit": ("edit", {**_PATHS, "oldString": "old_string", "newString": "new_string"}),
    "edit_file": ("edit", _PATHS),
    "multiedit": ("edit", _PATHS),
    "replace": ("edit", _PATHS),
    "apply_patch": ("edit", {"input": "patch"}),
    "write": ("write", _PATHS),
    "write_file": ("write", _PATHS),
    "todo": ("todo", {}),
    "todowrite": ("todo", {}),
    "todo_write": ("todo", {}),
    "write_todos": ("todo", {}),
    "update_plan": ("todo", {"plan": "todos"}),
}


def ours(call: ToolUse) -> ToolUse:
    """Return the call under prunecli's tool name; unchanged if no tool matches."""
    if (name := own_name(call.name)) != call.name:
        return ToolUse(call.id, name, call.input)
    found = _TOOLS.get(call.name.lower())
    if found is None:
        return call
    name, arguments = found
    given: dict[str, Json] = {}
    for key, value in call.input.items():
        text = " ".join(map(str, value)) if key in ("cmd", "command") and isinstance(value, list) else value
        given.setdefault(arguments.get(key, key), text)
    return ToolUse(call.id, name, given)


class Touching:
    """Adds to another program's conversation what its calls touch, as far as their tools are known."""

    def __init__(self) -> None:
        self._touches: dict[str, Touches] = {}

    def events(self, event: Event) -> Iterator[Event]:
        """Yield the event, and what follows from it."""
        if isinstance(event, ToolResult) and (touches := self._touches.get(event.tool_use_id)):
            shown = touches.reads and not touches.changes and touches.file
            event = replace(event, details={"path": touches.file}) if shown else event
        yield event
        for call in tool_uses(event.content) if isinstance(event, AssistantMessage) else ():
            known = ours(call)
            if touches := named(known.name, known.input):
                self._touches[call.id] = touches
                yield ToolStarted(call.id, call.name, call.input, touches)
