"""What a call's line says: paths below the working directory are relative."""

from pathlib import Path

import pytest

from prunecli.runtime.toolbox import load_tools, summaries


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("{cwd}/src/app.py", "src/app.py"),
        ("{cwd}", "."),
        ("{cwd}/", "."),
        ("{cwd}else/app.py", "{cwd}else/app.py"),
        ("/etc/hosts", "/etc/hosts"),
        ("src/app.py", "src/app.py"),
        ("../app.py", "../app.py"),
    ],
)
def test_a_path_in_the_workspace_is_shown_relative(tmp_path: Path, given: str, shown: str) -> None:
    summary = summaries(load_tools(["read", "ls"]), tmp_path)
    assert summary("read", {"path": given.format(cwd=tmp_path)}) == shown.format(cwd=tmp_path)


def test_of_an_unknown_tool_or_a_path_of_another_shape_nothing_is_made_up(tmp_path: Path) -> None:
    summary = summaries(load_tools(["read"]), tmp_path)
    assert summary("hologram", {"path": "x"}) == ""
    assert isinstance(summary("read", {"path": 7}), str)
