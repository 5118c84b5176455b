"""The edit tool: what it changes, what it keeps, what it refuses."""

import asyncio
import os
import stat
import struct
from pathlib import Path

import pytest

from prunecli.tools.tool import FilesSeen
from tests.tools.calling import Caller

linux_only = pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs extended attributes")


async def test_an_edit_replaces_one_place_and_says_where(tools: Caller, workspace: Path) -> None:
    (workspace / "f.py").write_text("a\nb\nc\n")
    output = await tools.output("edit", path="f.py", old_string="b", new_string="B\nB")
    assert (workspace / "f.py").read_text() == "a\nB\nB\nc\n"
    assert output.details == {
        "path": str(workspace / "f.py"),
        "added": 2,
        "removed": 1,
        "first_line": 2,
        "diff": "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B\n c",
    }


async def test_replace_all_says_how_many(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("x y x\nx")
    text = await tools.text("edit", path="f", old_string="x", new_string="z", replace_all=True)
    assert "3 places" in text
    assert (workspace / "f").read_text() == "z y z\nz"


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfone\r\ntwo\r\n",
        "one\ntwo".encode("utf-16"),
        b"one\rtwo\r",
        b"caf\xe9 one\x1a",
        b"\tone\t \nno newline at the end",
        b"one\n\n\n\n",
    ],
)
async def test_every_other_byte_stays(tools: Caller, workspace: Path, data: bytes) -> None:
    (workspace / "f").write_bytes(data)
    wide = data.startswith(b"\xff\xfe")
    old, new = ("one".encode("utf-16-le"), "1".encode("utf-16-le")) if wide else (b"one", b"1")
    await tools.text("edit", path="f", old_string="one", new_string="1")
    assert (workspace / "f").read_bytes() == data.replace(old, new)


# Refusals: the file stays as it was


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"old_string": "absent", "new_string": "x"}, "0 matches"),
        ({"old_string": "o", "new_string": "x"}, "matches 2 places"),
        ({"old_string": "", "new_string": "x"}, "empty"),
        ({"old_string": "one", "new_string": "one"}, "the same"),
    ],
)
async def test_a_refused_edit_changes_nothing(
    tools: Caller, workspace: Path, given: dict[str, str], hint: str
) -> None:
    file = workspace / "f"
    file.write_text("one two")
    before = file.stat()
    assert hint in await tools.error("edit", path="f", **given)
    assert file.read_text() == "one two"
    assert file.stat().st_ino == before.st_ino
    assert os.listdir(workspace) == ["f"]


async def test_a_file_that_is_not_there_is_named_with_its_nearest(tools: Caller, workspace: Path) -> None:
    (workspace / "parser.py").touch()
    message = await tools.error("edit", path="parsre.py", old_string="a", new_string="b")
    assert "does not exist" in message
    assert "parser.py" in message


@pytest.mark.parametrize("tool", ["edit", "write"])
async def test_a_change_that_breaks_a_notebook_is_refused(tools: Caller, workspace: Path, tool: str) -> None:
    whole = '{"cells": [{"source": ["y = 2"]}], "nbformat": 4}'
    (workspace / "n.ipynb").write_text(whole)
    await tools.text("read", path="n.ipynb")
    given = {"old_string": '"y = 2"', "new_string": '"y'} if tool == "edit" else {"content": whole[:-1]}
    assert "no longer be JSON" in await tools.error(tool, path="n.ipynb", **given)
    assert (workspace / "n.ipynb").read_text() == whole
    await tools.text("edit", path="n.ipynb", old_string='"y = 2"', new_string='"y = 3\\n", "z = 4"')
    (workspace / "broken.ipynb").write_text(whole[:-1])
    await tools.text("edit", path="broken.ipynb", old_string='": 4', new_string='": 4}')


async def test_folders_pipes_and_binaries_are_refused(tools: Caller, workspace: Path) -> None:
    (workspace / "folder").mkdir()
    os.mkfifo(workspace / "pipe")
    (workspace / "binary").write_bytes(b"a\0b")
    for path, hint in (("folder", "folder"), ("pipe", "not a regular file"), ("binary", "binary")):
        assert hint in await tools.error("edit", path=path, old_string="a", new_string="b")


async def test_a_file_too_large_for_memory_is_refused(tools: Caller, workspace: Path) -> None:
    (workspace / "big").touch()
    os.truncate(workspace / "big", 65 * 1024 * 1024)
    assert "too large" in await tools.error("edit", path="big", old_string="a", new_string="b")


async def test_a_read_only_file_is_refused_also_for_root(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("one")
    (workspace / "f").chmod(0o444)
    assert "read-only" in await tools.error("edit", path="f", old_string="one", new_string="two")
    assert (workspace / "f").read_text() == "one"


# What a file carries


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o4755, 0o2755, 0o6711, 0o1644, 0o666])
async def test_the_mode_stays(tools: Caller, workspace: Path, mode: int) -> None:
    (workspace / "f").write_text("one")
    (workspace / "f").chmod(mode)
    await tools.text("edit", path="f", old_string="one", new_string="two")
    assert stat.S_IMODE((workspace / "f").stat().st_mode) == mode


@linux_only
async def test_extended_attributes_stay(tools: Caller, workspace: Path) -> None:
    file = workspace / "f"
    file.write_text("one")
    try:
        os.setxattr(file, "user.color", b"green")
    except OSError:
        pytest.skip("this file system has no user attributes")
    await tools.text("edit", path="f", old_string="one", new_string="two")
    assert os.getxattr(file, "user.color") == b"green"


def _access_list(user: int, may: int) -> bytes:
    """As the kernel keeps it: version 2, then tag, rights and id of each entry, with one user of its own."""
    nobody = 0xFFFF_FFFF
    entries = (0x01, 6, nobody), (0x02, may, user), (0x04, 4, nobody), (0x10, may, nobody), (0x20, 4, nobody)
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def _with_access_lists(workspace: Path) -> None:
    """Two files, one with a list of its own, in a folder that gives new files another."""
    for name in ("listed", "plain"):
        (workspace / name).write_text("one")
    try:
        os.setxattr(workspace / "listed", "system.posix_acl_access", _access_list(1234, 6))
    except OSError as error:
        pytest.skip(f"this file system has no access lists: {error}")
    os.setxattr(workspace, "system.posix_acl_default", _access_list(4321, 7))


@linux_only
async def test_access_lists_stay_and_none_is_inherited_from_the_folder(
    tools: Caller, workspace: Path
) -> None:
    _with_access_lists(workspace)
    before = {name: _lists_of(workspace / name) for name in ("listed", "plain")}
    for name in before:
        await tools.text("edit", path=name, old_string="one", new_string="two")
    assert {name: _lists_of(workspace / name) for name in before} == before
    assert before == {"listed": {"system.posix_acl_access": _access_list(1234, 6)}, "plain": {}}


def _lists_of(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path) if "acl" in name}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
async def test_the_owner_stays(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("one")
    os.chown(workspace / "f", 1234, 4321)
    (workspace / "f").chmod(0o6755)
    await tools.text("edit", path="f", old_string="one", new_string="two")
    after = (workspace / "f").stat()
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (1234, 4321, 0o6755)


async def test_hard_links_stay_links(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("one and more")
    os.link(workspace / "f", workspace / "other")
    await tools.text("edit", path="f", old_string="one and", new_string="two")
    assert (workspace / "other").read_text() == "two more"
    assert (workspace / "f").stat().st_nlink == 2
    assert sorted(os.listdir(workspace)) == ["f", "other"]


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "-rf", "é" * 127, "\u202egnp.exe", " ", "*?[x]"])
async def test_odd_names_work(tools: Caller, workspace: Path, name: str) -> None:
    await tools.text("write", path=name, content="one")
    await tools.text("edit", path=name, old_string="one", new_string="two")
    assert (workspace / name).read_text() == "two"
    assert await tools.text("read", path=name) == "two"


# Somebody else at the same file


async def test_a_file_that_changed_since_it_was_read_is_a_conflict(tools: Caller, workspace: Path) -> None:
    file = workspace / "f"
    file.write_text("one two")
    await tools.text("read", path="f")
    file.write_text("one TWO")
    assert "changed since" in await tools.error("edit", path="f", old_string="one", new_string="1")
    assert file.read_text() == "one TWO"
    await tools.text("read", path="f")
    await tools.text("edit", path="f", old_string="one", new_string="1")


async def test_an_editor_that_saves_by_renaming_is_noticed(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("one two")
    await tools.text("read", path="f")
    (workspace / "new").write_text("one TWO")
    os.replace(workspace / "new", workspace / "f")
    assert "changed since" in await tools.error("edit", path="f", old_string="one", new_string="1")


async def test_no_false_alarm(tools: Caller, workspace: Path) -> None:
    """A touched file, our own edits, a rename with the same content, a reused inode."""
    file = workspace / "f"
    file.write_text("one two three")
    await tools.text("read", path="f")
    os.utime(file, (1, 1))
    await tools.text("edit", path="f", old_string="one", new_string="1")
    await tools.text("edit", path="f", old_string="two", new_string="2")
    (workspace / "g").write_bytes(file.read_bytes())
    os.replace(workspace / "g", file)
    await tools.text("edit", path="f", old_string="three", new_string="3")
    os.rename(file, workspace / "moved")
    (workspace / "moved").write_text("another one")
    assert (workspace / "moved").read_text() == "another one"
    await tools.text("edit", path="moved", old_string="another", new_string="an")


async def test_a_file_never_read_may_be_edited_by_an_exact_match(tools: Caller, workspace: Path) -> None:
    (workspace / "f").write_text("one")
    await tools.text("edit", path="f", old_string="one", new_string="two")
    assert (workspace / "f").read_text() == "two"


async def _lost(tools: Caller, workspace: Path, rounds: int) -> list[str]:
    """What a file holds after eight edits at once where not all of them took place, of so many times."""
    lost = []
    for number in range(rounds):
        (workspace / "f").write_text("".join(f"<{n}>" for n in range(8)))
        await tools.text("read", path="f")
        calls = [
            tools.output("edit", path="f", old_string=f"<{n}>", new_string=f"[{number}.{n}]")
            for n in range(8)
        ]
        await asyncio.gather(*calls)
        text = (workspace / "f").read_text()
        if text != "".join(f"[{number}.{n}]" for n in range(8)):
            lost.append(text)
        assert [name for name in os.listdir(workspace) if name.startswith(".")] == []
    return lost


async def test_eight_edits_at_once_all_take_place(tools: Caller, workspace: Path) -> None:
    """The short dose."""
    assert await _lost(tools, workspace, 10) == []


async def test_eight_edits_of_a_file_with_two_names_all_take_place(tools: Caller, workspace: Path) -> None:
    (workspace / "f").touch()
    os.link(workspace / "f", workspace / "other")
    assert await _lost(tools, workspace, 3) == []
    assert (workspace / "other").read_text() == (workspace / "f").read_text()


@pytest.mark.long
async def test_a_thousand_edits_at_once_all_take_place(tools: Caller, workspace: Path) -> None:
    assert await _lost(tools, workspace, 125) == []


async def test_a_canceled_edit_has_happened_or_not(tools: Caller, workspace: Path) -> None:
    file = workspace / "f"
    for number in range(30):
        file.write_text("one")
        fresh = tools.with_(files_seen=FilesSeen())
        call = asyncio.create_task(fresh.output("edit", path="f", old_string="one", new_string="two"))
        for _ in range(number):
            await asyncio.sleep(0)
        was_over = not call.cancel()
        await asyncio.wait({call})
        assert call.cancelled() or was_over
        after = file.read_text()
        assert after in ("one", "two")
        await asyncio.sleep(0)
        assert file.read_text() == after
        assert os.listdir(workspace) == ["f"]
