"""The tool that the README of the tools shows works as it says."""

from pathlib import Path

import pytest

import prunecli.tools
from prunecli.model.messages import plain_text
from prunecli.plugins.foreign import import_file
from prunecli.tools.inputs import parse
from prunecli.util.errors import ToolError
from tests.tools.calling import Caller

README = Path(prunecli.tools.__file__).parent / "README.md"


async def test_the_example_counts_lines_and_refuses_what_is_no_file(tools: Caller, workspace: Path) -> None:
    path = workspace / "count_lines.py"
    path.write_text(README.read_text("utf-8").partition("```python\n")[2].partition("```")[0])
    tool = import_file(path).CountLines()
    (workspace / "a").write_text("1\n2\n")
    given = parse(tool.Input, {"path": "a"})
    assert plain_text((await tool.run(given, tools.context)).content) == "2"
    assert tool.touches(given).reads == ("a",)
    assert tool.summary({"path": "a"}) == "a"
    with pytest.raises(ToolError, match="gone"):
        await tool.run(parse(tool.Input, {"path": "gone"}), tools.context)
