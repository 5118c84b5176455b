"""Calling a tool as the agent does, and looking at what its processes left."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from prunecli.model.messages import plain_text
from prunecli.tools.inputs import parse
from prunecli.tools.registry import load
from prunecli.tools.tool import FilesSeen, ToolContext, ToolLimits, ToolOutput
from prunecli.util.errors import ToolError


class Caller:
    """Calls tools in one workspace, with what one session remembers."""

    def __init__(self, workspace: Path, **changes: Any) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(workspace), "LANG": "C.UTF-8"}
        self.context = replace(ToolContext(workspace, workspace, env, FilesSeen()), **changes)

    def with_(self, **changes: Any) -> "Caller":
        """The same session with another context."""
        other = Caller(self.context.workspace)
        other.context = replace(self.context, **changes)
        return other

    def limited(self, max_output_bytes: int) -> "Caller":
        """The same session with another output limit."""
        return self.with_(limits=ToolLimits(max_output_bytes=max_output_bytes))

    async def output(self, name: str, **given: Any) -> ToolOutput:
        """The output of a call. Raises ToolError."""
        tool = load(name)
        return await tool.run(parse(tool.Input, given), self.context)

    async def text(self, name: str, **given: Any) -> str:
        """The text of a call that must not fail."""
        output = await self.output(name, **given)
        return plain_text(output.content)

    async def error(self, name: str, **given: Any) -> str:
        """The text of a call that must be refused."""
        try:
            output = await self.output(name, **given)
        except ToolError as error:
            return str(error)
        raise AssertionError(f"was not refused: {plain_text(output.content)}")


def processes_with(mark: str) -> list[int]:
    """The pids of living processes whose command line has this mark."""
    return [pid for pid, line in _command_lines() if mark in line and pid != os.getpid()]


def parent_of(pid: int) -> int:
    """The process that started this one; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _command_lines() -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except (OSError, IndexError):
                continue
            if state not in "ZX":
                yield int(folder.name), line
