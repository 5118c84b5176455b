"""The ls tool: one folder, in few words."""

import os
from pathlib import Path

import pytest

from tests.tools.calling import Caller


async def test_names_are_sorted_and_folders_marked(tools: Caller, workspace: Path) -> None:
    (workspace / "b").mkdir()
    (workspace / "a.py").touch()
    (workspace / ".env").touch()
    (workspace / "c").symlink_to("b")
    (workspace / "gone").symlink_to("nowhere")
    (workspace / ".git").mkdir()
    assert await tools.text("ls") == ".env\na.py\nb/\nc/\ngone"


async def test_what_git_ignores_is_named_apart(tools: Caller, workspace: Path) -> None:
    (workspace / ".gitignore").write_text("build/\n*.log\n")
    (workspace / "build").mkdir()
    (workspace / "x.log").touch()
    (workspace / "a").touch()
    assert await tools.text("ls") == ".gitignore\na\n[2 ignored: build/, x.log]"
    (workspace / "sub").mkdir()
    (workspace / "sub" / "y.log").touch()
    assert await tools.text("ls", path="sub") == "[1 ignored: y.log]"


async def test_an_ignored_folder_can_be_listed(tools: Caller, workspace: Path) -> None:
    (workspace / ".gitignore").write_text("build/\n")
    (workspace / "build").mkdir()
    (workspace / "build" / "out").touch()
    assert await tools.text("ls", path="build") == "out"


async def test_an_empty_folder_is_said_to_be_empty(tools: Caller) -> None:
    assert await tools.text("ls") == "[empty folder]"


async def test_at_most_five_hundred_names(tools: Caller, workspace: Path) -> None:
    for number in range(620):
        (workspace / f"{number:04}").touch()
    lines = (await tools.text("ls")).splitlines()
    assert len(lines) == 501
    assert lines[-2:] == ["0499", "[120 more; use find]"]


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="other systems refuse such names")
async def test_odd_names_are_one_line_each(tools: Caller, workspace: Path) -> None:
    for name in (b"a\nb", b"\xff", b"\x1b[2J"):
        os.close(os.open(os.path.join(os.fsencode(workspace), name), os.O_CREAT))
    assert await tools.text("ls") == "\\x1b[2J\na\\x0ab\n\ufffd"


@pytest.mark.parametrize("path", ["missing", "file", "file/x", "a\0b", "loop"])
async def test_what_is_no_folder_is_refused(tools: Caller, workspace: Path, path: str) -> None:
    (workspace / "file").touch()
    (workspace / "loop").symlink_to("loop")
    assert await tools.error("ls", path=path)
