"""The file tools beside sandboxed commands: what a command plants or moves leads no tool outside."""

import asyncio
import os
from pathlib import Path

import pytest

from prunecli.util.errors import ToolError
from tests.sandbox.confining import Box

PLANTED = {
    "link": "ln -s {outside}/x.txt link",
    "sub/x.txt": "ln -s {outside} sub",
    "deep/a/b/x.txt": "mkdir -p deep/a && ln -s {outside} deep/a/b",
    "chain": "ln -s {outside}/x.txt one && ln -s one chain",
    "proc": "ln -s /proc/self/root{outside}/x.txt proc",
    "up/x.txt": "ln -s ../outside up",
}


@pytest.fixture
def outside(box: Box) -> Path:
    """A folder beside the workspace, with one file."""
    folder = box.home / "outside"
    folder.mkdir()
    (folder / "x.txt").write_text("kept\n")
    return folder


@pytest.mark.parametrize("path", PLANTED)
async def test_a_link_that_a_command_planted_is_not_written_through(
    box: Box, outside: Path, path: str
) -> None:
    assert (await box.run(PLANTED[path].format(outside=outside)))[1] == 0
    await box.error("write", path=path, content="evil\n")
    await box.error("edit", path=path, old_string="kept", new_string="evil")
    assert (outside / "x.txt").read_text() == "kept\n"
    assert os.listdir(outside) == ["x.txt"]


async def test_a_command_makes_no_hard_link_to_a_file_outside(box: Box, outside: Path) -> None:
    assert (await box.run(f"ln {outside}/x.txt hard"))[1]
    assert not (box.context.workspace / "hard").exists()


@pytest.mark.parametrize(
    "writes", [pytest.param(200, id="short"), pytest.param(20_000, id="long", marks=pytest.mark.long)]
)
async def test_a_folder_that_a_command_swaps_for_a_link_leads_no_write_outside(
    box: Box, outside: Path, writes: int
) -> None:
    """The command flips the name between a folder and a link while the tool writes."""
    flips = "mv -T real at; mv -T at real; mv -T fake at; mv -T at fake"
    swap = f"mkdir real; ln -s {outside} fake; while [ ! -e stop ]; do {flips}; done"
    flipping = asyncio.ensure_future(box.run(swap))
    for number in range(writes):
        try:
            await box.output("write", path=f"at/{number}.txt", content="x\n")
        except ToolError:
            continue
    (box.context.workspace / "stop").touch()
    await flipping
    assert os.listdir(outside) == ["x.txt"]
    assert (outside / "x.txt").read_text() == "kept\n"


async def test_a_command_inherits_no_descriptor_but_its_own(box: Box, outside: Path) -> None:
    """Neither a file that is open here, nor the filter, nor the sandbox's files."""
    with (outside / "x.txt").open() as file:
        os.set_inheritable(file.fileno(), True)
        text, _ = await box.run("exec ls -l /proc/self/fd")
    assert "x.txt" not in text
    assert len([line for line in text.splitlines() if "->" in line]) == 4
