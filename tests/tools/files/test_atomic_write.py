"""A file has its old content or its new one, whatever happens in between."""

import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tools.files import read_journal as journal
from prunecli.tools.files.atomic_write import clear_leftovers, create_file, locked, replace_content
from prunecli.tools.files.read_journal import leftover_name
from prunecli.tools.files.workspace import Place, opened_place
from prunecli.util.errors import ToolError
from tests.tools.calling import Caller

ROOT = str(Path(__file__).parents[3])
OLD, NEW = b"old " * 5_000, b"new and longer " * 3_000


def names_of(workspace: Path, name: str = "f") -> tuple[Path, Path]:
    """The temporary file and the journal of a file."""
    place = Place(-1, name, "")
    return workspace / leftover_name(place, "tmp"), workspace / leftover_name(place, "journal")


def replace_by(workspace: Path, data: bytes) -> None:
    with opened_place("f", workspace, workspace) as place, locked(place, threading.Event()) as current:
        replace_content(place, current, data, threading.Event())


# Killed at every system call

CALLS = [
    "openat", "newfstatat", "fstat", "read", "write", "fsync", "renameat", "renameat2", "unlinkat", "fchmod",
    "fchown", "flock", "lseek", "ftruncate", "flistxattr", "close", "faccessat", "faccessat2",
]  # fmt: skip
SHORT = ("write", "fsync", "renameat", "unlinkat", "ftruncate", "fchmod")
EDITOR = """
import sys
import threading
from pathlib import Path
from prunecli.tools.files.atomic_write import locked, replace_content
from prunecli.tools.files.workspace import opened_place
workspace = Path(sys.argv[1])
with opened_place("f", workspace, workspace) as place, locked(place, threading.Event()) as current:
    replace_content(place, current, sys.stdin.buffer.read(), threading.Event())
"""


def killed_at(workspace: Path, call: str, number: int) -> bool:
    """Edits in a process that is killed at its `number`-th such call about the file; False when it ends first."""
    traced = [workspace, workspace / "f", *names_of(workspace)]
    done = subprocess.run(
        [
            "strace",
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            *(word for path in traced for word in ("-P", str(path))),
            "-e",
            f"trace={call}",
            "-e",
            f"inject={call}:signal=KILL:when={number}",
            sys.executable,
            "-c",
            EDITOR,
            str(workspace),
        ],
        input=NEW,
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if done.returncode == 0:
        return False
    assert done.returncode in (-9, 137), done.stderr.decode()
    return True


def _kill_everywhere(workspace: Path, links: int, calls: Sequence[str], most: int) -> int:
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    kills = 0
    for call in calls:
        for number in range(1, most + 1):
            for path in workspace.iterdir():
                path.unlink()
            (workspace / "f").write_bytes(OLD)
            if links == 2:
                os.link(workspace / "f", workspace / "other")
            if not killed_at(workspace, call, number):
                break
            kills += 1
            _check_after_a_kill(workspace, links)
    return kills


def _check_after_a_kill(workspace: Path, links: int) -> None:
    if links == 1:
        assert (workspace / "f").read_bytes() in (OLD, NEW)
    clear_leftovers("f", workspace, workspace)
    assert (workspace / "f").read_bytes() in (OLD, NEW)
    assert sorted(os.listdir(workspace)) == ["f", "other"][:links]
    replace_by(workspace, b"next")
    assert (workspace / "f").read_bytes() == b"next"


@pytest.mark.parametrize("links", [1, 2])
def test_killed_while_editing_leaves_the_old_or_the_new_content(workspace: Path, links: int) -> None:
    """The short dose."""
    assert _kill_everywhere(workspace, links, SHORT, 1) >= 4


@pytest.mark.long
@pytest.mark.parametrize("links", [1, 2])
def test_killed_at_every_system_call_leaves_the_old_or_the_new_content(workspace: Path, links: int) -> None:
    assert _kill_everywhere(workspace, links, CALLS, 50) >= 25


# The journal


@given(st.binary(max_size=30), st.binary(max_size=30), st.data())
def test_a_mixture_is_known_from_every_other_content(old: bytes, new: bytes, data: st.DataObject) -> None:
    written = data.draw(st.integers(0, len(new)))
    torn = new[:written] + old[written:]
    assert journal._is_mixture(torn, old, new) == (torn not in (old, new))
    if data.draw(st.booleans()):
        other = torn + b"\x01appended by an editor"
        assert not journal._is_mixture(other, old, new) or other in {
            new[:k] + old[k:] for k in range(len(new) + 1)
        }


def _torn(workspace: Path, content: bytes, *, journal_bytes: bytes | None = None) -> None:
    """A file and a journal as an edit leaves them that was killed while it wrote."""
    (workspace / "f").write_bytes(OLD)
    with opened_place("f", workspace, workspace) as place:
        name = leftover_name(place, "journal")
        journal._keep(place, name, OLD, NEW)
        if journal_bytes is not None:
            (workspace / name).write_bytes(journal_bytes)
    (workspace / "f").write_bytes(content)


def test_a_half_written_file_gets_its_old_content_back(workspace: Path) -> None:
    _torn(workspace, NEW[:7_000] + OLD[7_000:])
    clear_leftovers("f", workspace, workspace)
    assert (workspace / "f").read_bytes() == OLD
    assert os.listdir(workspace) == ["f"]


@pytest.mark.parametrize("content", [OLD, NEW, b"written by an editor since"])
def test_a_journal_never_undoes_what_is_no_mixture(workspace: Path, content: bytes) -> None:
    _torn(workspace, content)
    clear_leftovers("f", workspace, workspace)
    assert (workspace / "f").read_bytes() == content
    assert os.listdir(workspace) == ["f"]


@pytest.mark.parametrize("damage", [b"", b"prunecli journal 1\n", b"9\nxy", b"\0" * 100])
def test_a_file_that_is_no_whole_journal_is_only_cleared_away(workspace: Path, damage: bytes) -> None:
    _torn(workspace, OLD, journal_bytes=damage)
    clear_leftovers("f", workspace, workspace)
    assert (workspace / "f").read_bytes() == OLD
    assert os.listdir(workspace) == ["f"]


async def test_leftovers_of_a_new_file_are_cleared_by_the_next_write(workspace: Path) -> None:
    names_of(workspace)[0].write_text("half a fi")
    await Caller(workspace).text("write", path="f", content="new")
    assert os.listdir(workspace) == ["f"]
    (workspace / "f").unlink()
    names_of(workspace)[0].write_text("half a fi")
    clear_leftovers("f", workspace, workspace)
    assert os.listdir(workspace) == []


async def test_a_link_in_place_of_the_temporary_file_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    tools = Caller(workspace)
    names_of(workspace)[0].symlink_to(victim)
    names_of(workspace)[1].symlink_to(victim)
    (workspace / "f").write_text("one")
    os.link(workspace / "f", workspace / "g")
    try:
        await tools.output("edit", path="f", old_string="one", new_string="two")
    except ToolError:
        pass
    names_of(workspace, "new")[0].symlink_to(victim)
    try:
        await tools.output("write", path="new", content="evil")
    except ToolError:
        pass
    assert victim.read_text() == "untouched"


# A disk that is full, a folder that can't be written

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system, which only root can")


@pytest.fixture
def small_disk(workspace: Path) -> Iterator[Path]:
    """The workspace on a file system of 256 KiB."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(workspace)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("can't mount here")
    yield workspace
    subprocess.run(["umount", "-l", workspace], check=True)


def remounted_read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)


@needs_root
@pytest.mark.parametrize("links", [1, 2])
async def test_a_full_disk_leaves_the_file_as_it_was(small_disk: Path, links: int) -> None:
    (small_disk / "f").write_bytes(b"x" * 150_000)
    if links == 2:
        os.link(small_disk / "f", small_disk / "other")
    tools = Caller(small_disk)
    given = {"old_string": "x", "new_string": "yy", "replace_all": True}
    assert "No space left" in await tools.error("edit", path="f", **given)
    assert (small_disk / "f").read_bytes() == b"x" * 150_000
    assert sorted(os.listdir(small_disk)) == ["f", "other"][:links]
    assert "No space left" in await tools.error("write", path="new", content="z" * 200_000)
    assert sorted(os.listdir(small_disk)) == ["f", "other"][:links]


@needs_root
async def test_a_disk_that_fills_while_a_file_is_written_in_place_leaves_it_as_it_was(
    small_disk: Path,
) -> None:
    """The folder can't hold a journal, so the file is written without one."""
    (small_disk / "f").write_bytes(b"x" * 100_000)
    with (
        opened_place("f", small_disk, small_disk) as place,
        pytest.raises(OSError, match="No space") as error,
    ):
        journal.written_in_place(place, b"x" * 100_000, b"y" * 400_000, 0o644)
    assert error.value.errno == errno.ENOSPC
    assert (small_disk / "f").read_bytes() == b"x" * 100_000
    assert os.listdir(small_disk) == ["f"]


@needs_root
async def test_a_read_only_file_system_is_said(small_disk: Path) -> None:
    (small_disk / "f").write_text("one")
    remounted_read_only(small_disk)
    tools = Caller(small_disk)
    assert "read-only" in (await tools.error("edit", path="f", old_string="one", new_string="two")).lower()
    assert "Read-only file system" in await tools.error("write", path="new/x", content="x")


UNPRIVILEGED = """
import asyncio, os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.tools.calling import Caller
async def main():
    tools = Caller(Path({workspace!r}))
    await tools.text("edit", path="shared", old_string="one", new_string="two")
    for path in ("locked_folder/f", "foreign"):
        print(await tools.error("edit", path=path, old_string="one", new_string="two"))
    print(await tools.error("write", path="locked_folder/new", content="x"))
    await tools.text("edit", path="locked_folder/open", old_string="one", new_string="two")
asyncio.run(main())
"""


@needs_root
def test_without_rights_a_file_is_refused_or_written_where_it_is(tmp_path: Path) -> None:
    """The owner of a file that only its group may write stays its owner."""
    if not os.access(ROOT, os.R_OK) or not all(part.stat().st_mode & 1 for part in Path(ROOT).parents):
        pytest.skip("the package is not readable by other users here")
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 1:
            folder.chmod(0o755)
    (tmp_path / "locked_folder").mkdir()
    for name, mode in (("shared", 0o666), ("foreign", 0o644), ("locked_folder/f", 0o644)):
        (tmp_path / name).write_text("one")
        (tmp_path / name).chmod(mode)
    (tmp_path / "locked_folder/open").write_text("one")
    (tmp_path / "locked_folder/open").chmod(0o666)
    tmp_path.chmod(0o777)
    source = UNPRIVILEGED.format(root=ROOT, workspace=str(tmp_path))
    python = "/usr/bin/python3" if Path(sys.executable).resolve().is_relative_to("/root") else sys.executable
    done = subprocess.run([python, "-c", source], capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("read-only") == 2
    assert "Permission denied" in done.stdout
    assert (tmp_path / "shared").read_text() == "two"
    assert (tmp_path / "shared").stat().st_uid == 0
    assert (tmp_path / "locked_folder/open").read_text() == "two"
    left = [path.name for path in tmp_path.rglob(".prunecli*")]
    assert left == []


def test_a_file_that_changes_at_the_last_moment_is_not_clobbered(workspace: Path) -> None:
    (workspace / "f").write_text("one")
    with opened_place("f", workspace, workspace) as place, locked(place, threading.Event()) as current:
        (workspace / "f").write_text("somebody else's")
        with pytest.raises(ToolError, match="just now"):
            replace_content(place, current, b"ours", threading.Event())
    assert (workspace / "f").read_text() == "somebody else's"
    assert os.listdir(workspace) == ["f"]


def test_a_file_that_appears_at_the_last_moment_is_not_clobbered(workspace: Path) -> None:
    with opened_place("f", workspace, workspace) as place:
        (workspace / "f").write_text("somebody else's")
        with pytest.raises(ToolError, match="just now"):
            create_file(place, b"ours", threading.Event())
    assert (workspace / "f").read_text() == "somebody else's"
    assert os.listdir(workspace) == ["f"]


def test_a_lock_of_another_program_is_waited_for_until_the_call_is_canceled(workspace: Path) -> None:
    import fcntl

    (workspace / "f").write_text("one")
    with open(workspace / "f") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        stop = threading.Event()
        stop.set()
        with (
            opened_place("f", workspace, workspace) as place,
            pytest.raises(ToolError, match="locked"),
            locked(place, stop),
        ):
            raise AssertionError("the lock was not respected")
