"""The write tool: new files, and what of an existing one is kept or refused."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from prunecli.util.errors import ToolError
from tests.tools.calling import Caller


async def test_a_new_file_is_made_with_its_folders(tools: Caller, workspace: Path) -> None:
    output = await tools.output("write", path="a/b/c.txt", content="one\ntwo\n")
    assert (workspace / "a/b/c.txt").read_bytes() == b"one\ntwo\n"
    assert output.details["created"] is True
    assert output.details["added"] == 2
    assert os.listdir(workspace / "a/b") == ["c.txt"]


async def test_a_new_file_has_the_mode_of_the_umask(tools: Caller, workspace: Path) -> None:
    old = os.umask(0o027)
    try:
        await tools.text("write", path="f", content="x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((workspace / "f").stat().st_mode) == 0o640


async def test_an_existing_file_must_have_been_read(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("precious")
    assert "read it first" in await tools.error("write", path="f", content="x")
    assert (workspace / "f").read_text() == "precious"
    await tools.text("read", path="f")
    output = await tools.output("write", path="f", content="x")
    assert (workspace / "f").read_text() == "x"
    assert output.details["diff"] == (
        "@@ -1,1 +1,1 @@\n-precious\n\\ No newline at end of file\n+x\n\\ No newline at end of file"
    )


async def test_what_was_written_may_be_written_again(tools: Caller, workspace: Path) -> None:
    """Our own write counts as seen."""
    for content in ("one", "two", "three"):
        await tools.text("write", path="f", content=content)
    await tools.text("edit", path="f", old_string="three", new_string="four")
    await tools.text("write", path="f", content="five")
    assert (workspace / "f").read_text() == "five"


async def test_an_empty_file_has_nothing_to_lose(tools: Caller, workspace: Path) -> None:
    (workspace / "f").touch()
    await tools.text("write", path="f", content="x")
    assert (workspace / "f").read_text() == "x"


async def test_a_file_that_changed_since_it_was_read_is_a_conflict(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("one")
    await tools.text("read", path="f")
    (workspace / "f").write_text("two")
    assert "changed since" in await tools.error("write", path="f", content="x")
    assert (workspace / "f").read_text() == "two"


async def test_reading_a_part_is_reading_the_file(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("one\ntwo\nthree\n")
    await tools.text("read", path="f", offset=2, limit=1)
    await tools.text("write", path="f", content="x")
    await tools.text("read", path="f", offset=1, limit=1)
    (workspace / "f").write_text("y")
    assert "changed since" in await tools.error("write", path="f", content="x")


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"\xef\xbb\xbfa", "x", b"\xef\xbb\xbfx"),
        (b"\xef\xbb\xbfa", "\ufeffx", b"\xef\xbb\xbfx"),
        ("a\r\n".encode("utf-16"), "é\n", b"\xff\xfe" + "é\r\n".encode("utf-16-le")),
        (b"caf\xe9", "é", b"\xe9"),
    ],
)
async def test_encoding_and_line_ends_of_a_file_stay(
    tools: Caller, workspace: Path, before: bytes, content: str, after: bytes
) -> None:
    (workspace / "f").write_bytes(before)
    await tools.text("read", path="f")
    await tools.text("write", path="f", content=content)
    assert (workspace / "f").read_bytes() == after


async def test_the_same_content_is_not_written(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("same")
    await tools.text("read", path="f")
    before = (workspace / "f").stat()
    await tools.text("write", path="f", content="same")
    assert (workspace / "f").stat() == before


async def test_a_name_that_is_a_folder_or_below_a_file_is_refused(tools: Caller, workspace: Path) -> None:
    (workspace / "folder").mkdir()
    (workspace / "file").touch()
    os.mkfifo(workspace / "pipe")
    assert "folder" in await tools.error("write", path="folder", content="x")
    assert await tools.error("write", path="file/x", content="x")
    assert "regular" in await tools.error("write", path="pipe", content="x")


async def test_half_a_surrogate_pair_is_written_as_a_replacement(tools: Caller, workspace: Path) -> None:
    await tools.text("write", path="f", content="a\ud800b")
    assert (workspace / "f").read_text() == "a\ufffdb"


async def test_of_two_new_files_of_one_name_one_is_refused(tools: Caller, workspace: Path) -> None:
    async def write(content: str) -> str | None:
        try:
            await tools.with_(files_seen=type(tools.context.files_seen)()).output(
                "write", path="f", content=content
            )
        except ToolError:
            return None
        return content

    for number in range(10):
        written = await asyncio.gather(*(write(f"{number}.{n}") for n in range(6)))
        assert [content for content in written if content] == [(workspace / "f").read_text()]
        assert os.listdir(workspace) == ["f"]
        (workspace / "f").unlink()
