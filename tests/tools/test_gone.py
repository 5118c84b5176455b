"""Tools whose working directory was deleted while the program runs."""

import pytest

from tests.tools.calling import Caller


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("read", {"path": "a.txt"}),
        ("write", {"path": "a.txt", "content": "x"}),
        ("edit", {"path": "a.txt", "old_string": "a", "new_string": "b"}),
        ("ls", {}),
        ("ls", {"path": "src"}),
        ("find", {"pattern": "*.py"}),
        ("grep", {"pattern": "x"}),
        ("bash", {"command": "ls"}),
    ],
)
async def test_each_tool_says_that_the_directory_is_gone(
    tools: Caller, name: str, given: dict[str, object]
) -> None:
    workspace = tools.context.cwd
    workspace.rmdir()
    assert await tools.error(name, **given) == f"The working directory {workspace} no longer exists."
    assert not workspace.exists(), "nothing makes it again"
