"""Tool calls for an editor: kind, title, locations, diffs and output."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    ImageContentBlock,
    PlanEntry,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolKind,
)

from prunecli.features.acp.texts import block, fenced, shown
from prunecli.front.presentation.outcomes import argument_of, text_of
from prunecli.model.events import ToolResult
from prunecli.model.messages import Image, Json
from prunecli.model.requests import TASK
from prunecli.model.todos import TOOL, todos_of
from prunecli.model.touches import Touches, named
from prunecli.runtime.toolbox import summaries
from prunecli.tools.inputs import parse
from prunecli.tools.tool import Tool, touches_of
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line, shortened

Content: TypeAlias = list[ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent]

MAX_TITLE = 300
_MARKDOWN = (TASK, "ask", "web_fetch", "web_search")
_FETCH = ("web_fetch", "web_search")
_CUT = "… "
"""The prefix of the last line of a truncated diff."""


@frozen
class CallView:
    title: str
    kind: ToolKind
    locations: tuple[ToolCallLocation, ...]
    content: Content


class Calls:
    def __init__(self, tools: Mapping[str, Tool], cwd: Path) -> None:
        self._tools = tools
        self._cwd = cwd

    def view(self, name: str, given: Mapping[str, Json], touches: Touches | None = None) -> CallView:
        touches = touches or self._touches(name, given)
        argument = argument_of(name, given, summaries(self._tools, self._cwd))
        only = bool(touches and touches.runs and argument)
        line = one_line(" ".join((argument if only else f"{name} {argument}").split()))
        title = shortened(line, MAX_TITLE)
        return CallView(
            title, kind_of(name, touches), tuple(self._places(touches)), self.edits(given, touches)
        )

    def _touches(self, name: str, given: Mapping[str, Json]) -> Touches | None:
        tool = self._tools.get(name)
        try:
            return touches_of(tool, parse(tool.Input, given)) if tool else named(name, given)
        except ToolError:
            return named(name, given)

    def _places(self, touches: Touches | None) -> list[ToolCallLocation]:
        paths = dict.fromkeys((*touches.changes, *touches.reads)) if touches else ()
        return [ToolCallLocation(path=self.absolute(path)) for path in paths if "*" not in path]

    def absolute(self, path: str) -> str:
        return shown(os.path.normpath(self._cwd / os.path.expanduser(path)))

    def edits(self, given: Mapping[str, Json], touches: Touches | None) -> Content:
        """Return the change requested by an edit; [] for other calls."""
        path, old, new = given.get("path"), given.get("old_string"), given.get("new_string")
        if not (touches and touches.changes == (path,)) or not isinstance(path, str):
            return []
        if isinstance(old, str) and isinstance(new, str):
            return [self.diff(path, old, new)]
        return []

    def diff(self, path: str, old: str | None, new: str) -> FileEditToolCallContent:
        """Return a change of a file; `old` is None for a new file."""
        before = None if old is None else shown(old)
        return FileEditToolCallContent(
            type="diff", path=self.absolute(path), old_text=before, new_text=shown(new)
        )

    def result(self, result: ToolResult, given: Mapping[str, Json]) -> tuple[Content, list[ToolCallLocation]]:
        """Return the content and locations of a finished call."""
        path, details = result.details.get("path"), result.details
        line = details.get("first_line")
        places = (
            [ToolCallLocation(path=self.absolute(path), line=line if isinstance(line, int) else None)]
            if isinstance(path, str) and path
            else []
        )
        diff = details.get("diff")
        if isinstance(path, str) and isinstance(diff, str) and diff and not result.is_error:
            return self._changes(path, diff, result, given), places
        text = text_of(result.content)
        pictures: Content = [
            _content(ImageContentBlock(type="image", data=one.data, mime_type=one.media_type))
            for one in result.content
            if isinstance(one, Image)
        ]
        if not text.strip():
            return pictures, places
        plain = result.tool_name in _MARKDOWN and not result.is_error
        return [text_content(shown(text) if plain else fenced(text)), *pictures], places

    def _changes(self, path: str, diff: str, result: ToolResult, given: Mapping[str, Json]) -> Content:
        content = given.get("content")
        if result.details.get("created") and isinstance(content, str):
            return [self.diff(path, None, content)]
        if diff.rpartition("\n")[2].startswith(_CUT):
            return self.edits(given, self._touches(result.tool_name, given)) or [
                text_content(fenced(diff, "diff"))
            ]
        return [self.diff(path, old, new) for old, new in hunks(diff)]


def kind_of(name: str, touches: Touches | None) -> ToolKind:
    """Return the kind of a call, from the files and commands it touches."""
    if name in _FETCH:
        return "fetch"
    if name == TOOL:
        return "think"
    if touches is None or touches.calls:
        return "other"
    kinds: tuple[tuple[ToolKind, tuple[str, ...]], ...] = (
        ("execute", touches.runs),
        ("edit", touches.changes),
        ("search", touches.searches),
        ("read", touches.reads),
    )
    return next((kind for kind, touched in kinds if touched), "other")


def hunks(diff: str) -> list[tuple[str, str]]:
    """Return the hunks of a unified diff as old and new text."""
    found: list[tuple[list[str], list[str]]] = []
    for line in diff.split("\n"):
        if line.startswith("@@ "):
            found.append(([], []))
        elif found and not line.startswith("\\"):
            old, new = found[-1]
            if line[:1] in (" ", "-"):
                old.append(line[1:])
            if line[:1] in (" ", "+"):
                new.append(line[1:])
    return [("\n".join(old), "\n".join(new)) for old, new in found]


def plan_of_todos(given: Mapping[str, Json]) -> list[PlanEntry] | None:
    """Return the entries of a to-do list, None if the input has none."""
    if not isinstance(given.get("todos"), list | tuple):
        return None
    return [PlanEntry(content=one.content, priority="medium", status=one.status) for one in todos_of(given)]


def text_content(text: str) -> ContentToolCallContent:
    return _content(block(text))


def _content(content: TextContentBlock | ImageContentBlock) -> ContentToolCallContent:
    return ContentToolCallContent(type="content", content=content)
