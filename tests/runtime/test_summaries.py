"""What a call's line says: paths below the working directory are relative."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prunecli.model.messages import Json
from prunecli.model.touches import Touches
from prunecli.runtime.toolbox import load_tools, summaries
from prunecli.tools.read import Read


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


def test_the_path_of_a_new_tool_is_found_by_what_it_declares(tmp_path: Path) -> None:
    class Peek(Read):
        @dataclass(frozen=True, slots=True)
        class Input:
            file: str

        def summary(self, given: Mapping[str, Json]) -> str:
            return f"{given['file']} {given.get('path', '')}"

        def touches(self, given: Any) -> Touches:
            return Touches(reads=(given.file,))

    summary = summaries({"peek": Peek()}, tmp_path)
    assert summary("peek", {"file": f"{tmp_path}/a", "path": f"{tmp_path}/b"}) == f"a {tmp_path}/b"


def test_of_an_unknown_tool_or_a_path_of_another_shape_nothing_is_made_up(tmp_path: Path) -> None:
    summary = summaries(load_tools(["read"]), tmp_path)
    assert summary("hologram", {"path": "x"}) == ""
    assert isinstance(summary("read", {"path": 7}), str)
