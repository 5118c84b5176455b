"""Snapshots of a workspace: what they hold, what they leave alone, and that files come back from them."""

import os
import shutil
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prunecli.features.rewind.own_git import OutOfTime
from prunecli.features.rewind.restoring import restore
from prunecli.features.rewind.snapshots import EMPTY, MAX_FILE_BYTES, FileChange, Snapshots
from prunecli.util.errors import SnapshotFailed
from tests.session.snapshotting import back, files, git, of_git, repository, snapshots
from tests.waiting import wait_until


def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_the_users_repository_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    before = of_git(work)
    store = snapshots(tmp_path, work)
    first = store.save()
    (work / "a.txt").write_text("by the agent\n")
    (work / "made.txt").write_text("made\n")
    (work / "b.txt").unlink()
    second = store.save()
    assert back(store, second.tree, first.tree).left == ()
    assert of_git(work) == before
    assert files(work) == {
        "a.txt": (b"changed\n", 0o644),
        "b.txt": (b"two\n", 0o644),
        "new.txt": (b"new\n", 0o644),
    }


def test_whatever_changed_comes_back_and_goes_again(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    (work / "bytes").write_bytes(bytes(range(256)) + b"\r\n\n\r")
    (work / "run.sh").write_text("#!/bin/sh\n")
    (work / "run.sh").chmod(0o755)
    (work / "link").symlink_to("run.sh")
    (work / "out").symlink_to("/etc/passwd")
    (work / "deep" / "er").mkdir(parents=True)
    (work / "deep" / "er" / "ünï\ncode").write_text("x")
    (work / "to-folder").write_text("a file")
    store = snapshots(tmp_path, work)
    first, then = store.save(), files(work)
    script = """
    rm -r deep link out && mkdir link && echo in > link/inside && echo 1 > deep
    chmod -x run.sh && echo more >> bytes && rm to-folder && mkdir to-folder && echo 2 > to-folder/x
    ln -s /etc/hostname out && mkdir -p made/by && echo 3 > made/by/agent
    """
    subprocess.run(["sh", "-ec", script], cwd=work, check=True)
    second, later = store.save(), files(work)
    assert back(store, second.tree, first.tree).left == ()
    assert files(work) == then
    assert not (work / "made").exists()
    assert store.save().tree == first.tree
    assert back(store, first.tree, second.tree).left == ()
    assert files(work) == later


def test_bytes_are_saved_whatever_attributes_say_and_no_filter_runs(tmp_path: Path) -> None:
    """A repository's attributes, hooks, monitor and filters start nothing and change nothing."""
    work = repository(tmp_path / "work")
    marker = tmp_path / "marker"
    evil = work / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    evil.chmod(0o755)
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.evil.command"):
        git(work, "config", key, str(evil))
    git(work, "config", "filter.evil.required", "true")
    hooks = work / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "pre-commit", "post-checkout"):
        (hooks / hook).write_text(evil.read_text())
        (hooks / hook).chmod(0o755)
    (work / ".gitattributes").write_text(
        "* text=auto eol=crlf ident filter=evil diff=evil working-tree-encoding=UTF-16\n[attr]x -diff\n* x\n"
    )
    (work / "crlf").write_bytes(b"a\r\nb\n$Id$\n\xff\xfe")
    store = snapshots(tmp_path, work)
    first, then = store.save(), files(work)
    (work / "crlf").write_bytes(b"other\n")
    second = store.save()
    (changes,) = store.changes([(first.tree, second.tree)])
    assert back(store, second.tree, first.tree).left == ()
    assert files(work) == then
    assert [(one.path, one.added) for one in changes] == [("crlf", 1)]
    assert not marker.exists()


def test_a_nested_repository_is_left_out_and_nothing_of_it_runs(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    inner = repository(work / "vendor" / "inner")
    marker = tmp_path / "marker"
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {marker}\n")
    evil.chmod(0o755)
    git(inner, "config", "core.fsmonitor", str(evil))
    git(work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    store = snapshots(tmp_path, work)
    first = store.save()
    assert set(first.skipped) == {"vendor/inner/", "sub/"}
    (inner / "a.txt").write_text("changed by the agent")
    (work / "sub" / "a.txt").write_text("changed by the agent")
    assert store.save().tree == first.tree
    assert not marker.exists()


def test_what_is_ignored_is_neither_saved_nor_deleted(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    (work / ".gitignore").write_text("*.log\n/build/\n")
    (work / ".git" / "info" / "exclude").write_text("private\n")
    (work / "x.log").write_text("1")
    (work / "private").write_text("1")
    store = snapshots(tmp_path, work)
    first = store.save()
    (work / ".gitignore").write_text("")
    (work / "made").write_text("1")
    second = store.save()
    paths = {change.path for change in store.changes([(first.tree, second.tree)])[0]}
    assert paths == {".gitignore", "made", "x.log"}
    assert back(store, second.tree, first.tree).left == (("x.log", "ignored by git"),)
    assert (work / "x.log").exists()
    assert not (work / "made").exists()


def test_in_a_folder_of_a_repository_its_ignore_files_hold_and_only_the_folder_is_saved(
    tmp_path: Path,
) -> None:
    top = repository(tmp_path / "top")
    (top / ".gitignore").write_text("ignored\n")
    work = top / "sub [x]"
    work.mkdir()
    store = snapshots(tmp_path, work)
    assert store.save().tree == EMPTY
    (work / "ignored").write_text("1")
    (work / "kept").write_text("1")
    saved = store.save()
    (changes,) = store.changes([(EMPTY, saved.tree)])
    assert [change.path for change in changes] == ["kept"]
    git(work, "init", "-q")  # the root is another one now, the paths are the same
    assert {one.path for one in store.changes([(saved.tree, store.save().tree)])[0]} == {"ignored"}


def test_large_and_unreadable_files_are_left_out_and_named(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    with (work / "big").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    (work / "grows").write_text("small")
    os.mkfifo(work / "pipe")
    store = snapshots(tmp_path, work)
    first = store.save()
    assert first.skipped == ("big",)
    with (work / "grows").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with (work / "big").open("wb") as file:
        file.truncate(10)
    second = store.save()
    assert second.skipped == ("grows",)
    (changes,) = store.changes([(first.tree, second.tree)])
    assert {(one.path, one.old is None, one.new is None) for one in changes} == {
        ("big", True, False),
        ("grows", False, True),
    }


@pytest.mark.parametrize("folder", ["/", "home", "."])
def test_a_home_or_the_root_is_too_much(tmp_path: Path, folder: str) -> None:
    (tmp_path / "home").mkdir()
    store = snapshots(tmp_path, (tmp_path / folder).resolve())
    assert "too large" in store.refusal()
    with pytest.raises(SnapshotFailed, match="a project folder"):
        store.save()
    assert not (tmp_path / "data").exists()


def test_a_missing_git_and_a_slow_one_are_said(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    without = Snapshots(tmp_path / "s", work, {"PATH": str(tmp_path)}, tmp_path / "home")
    with pytest.raises(SnapshotFailed, match="cannot run git"):
        without.save()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    (programs / "git").chmod(0o755)
    slow = Snapshots(tmp_path / "s", work, {"PATH": str(programs)}, tmp_path / "home", seconds=0.2)
    with pytest.raises(SnapshotFailed, match="took too long"):
        slow.save()


def test_what_was_taken_in_before_it_was_stopped_is_not_read_again(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for number in range(50):
        (work / f"{number:02}.txt").write_text(f"text {number}\n")
    real = shutil.which("git")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").write_text(
        "#!/bin/sh\n"
        f'case "$*" in *update-index*) echo >> {tmp_path}/portions\n'
        f"[ $(/usr/bin/wc -l < {tmp_path}/portions) = 3 ] && exec /bin/sleep 600;; esac\n"
        f'exec {real} "$@"\n'
    )
    (programs / "git").chmod(0o755)
    environ = {"PATH": str(programs), "HOME": str(tmp_path)}
    stopped = Snapshots(tmp_path / "s", work, environ, tmp_path / "home", seconds=600, portion=10)
    with ThreadPoolExecutor() as pool:
        saving = pool.submit(stopped.save)
        portions = tmp_path / "portions"
        wait_until(lambda: portions.exists() and portions.read_text().count("\n") == 3)
        stopped.stop()
        with pytest.raises(OutOfTime):
            saving.result()
    (place,) = (tmp_path / "s").iterdir()
    assert git(work, f"--git-dir={place}", "ls-files").count(b"\n") == 20
    (work / "00.txt").write_text("changed meanwhile\n")
    again = Snapshots(tmp_path / "s", work, environ, tmp_path / "home", seconds=600, portion=10).save()
    assert portions.read_text().count("\n") == 3 + 4, "three portions were left, and what had changed"
    assert again.tree == snapshots(tmp_path, work).save().tree
    assert not list((place / "objects").glob("pack/tmp_*"))


def test_our_repository_is_private_and_made_whole_again(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    (work / "a").write_text("1")
    store = snapshots(tmp_path, work)
    first = store.save()
    (place,) = (tmp_path / "data" / "snapshots").iterdir()
    for folder in (place, place.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    marker = tmp_path / "marker"
    (place / "config").write_text(
        f'[filter "x"]\n\tclean = touch {marker}\n[core]\n\tfsmonitor = touch {marker}\n'
    )
    (place / "info" / "attributes").write_text("* filter=x\n")
    (place / "index.lock").write_text("")
    (work / "a").write_text("2")
    assert store.save().tree != first.tree
    assert not marker.exists()


def test_a_lost_or_forged_snapshot_changes_nothing(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    (work / "a").write_text("1")
    store = snapshots(tmp_path, work)
    first = store.save()
    for tree in ("0" * 39 + "1", "--output=/tmp/x", "HEAD"):
        with pytest.raises(SnapshotFailed):
            store.changes([(first.tree, tree)])
    assert files(work) == {"a": (b"1", 0o644)}


def test_a_file_that_changed_at_that_moment_is_left(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    (work / "a").write_text("1")
    store = snapshots(tmp_path, work)
    first = store.save()
    (work / "a").write_text("2")
    (work / "made").write_text("2")
    (work / "ln").symlink_to("a")
    second = store.save()
    (work / "a").write_text("3")
    (work / "made").write_text("3")
    (work / "ln").unlink()
    (work / "ln").symlink_to("b")
    done = back(store, second.tree, first.tree)
    assert done.paths == ()
    assert {why for _, why in done.left} == {"the file changed in the meantime"}
    assert (work / "a").read_text() == "3"


def test_no_link_is_followed_out_of_the_workspace(tmp_path: Path) -> None:
    """What was planted meanwhile leads nowhere."""
    work = workspace(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (work / "d").mkdir()
    (work / "d" / "f").write_text("1")
    store = snapshots(tmp_path, work)
    first = store.save()
    (work / "d" / "f").unlink()
    (work / "d").rmdir()
    second = store.save()
    (changes,) = store.changes([(second.tree, first.tree)])
    (work / "d").symlink_to(outside)
    assert restore(store, changes, threading.Event()).paths == ()
    assert list(outside.iterdir()) == []
    forged = [FileChange(path, None, changes[0].new) for path in ("../x", ".git/hooks/x", "a/../../x")]
    assert restore(store, forged, threading.Event()).paths == ()
    assert not (tmp_path / "x").exists()


def test_interrupted_it_says_what_it_left(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    (work / "a").write_text("1")
    store = snapshots(tmp_path, work)
    first = store.save()
    (work / "a").write_text("2")
    (changes,) = store.changes([(store.save().tree, first.tree)])
    stop = threading.Event()
    stop.set()
    assert restore(store, changes, stop).left == (("a", "interrupted"),)


def test_modes_of_a_file_stay_but_for_whether_it_runs(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    (work / "secret").write_text("1")
    (work / "secret").chmod(0o600)
    store = snapshots(tmp_path, work)
    first = store.save()
    (work / "secret").write_text("2")
    (work / "secret").chmod(0o700)
    back(store, store.save().tree, first.tree)
    assert (work / "secret").stat().st_mode & 0o777 == 0o600


def test_many_contents_come_in_their_order(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    for number in range(80):
        (work / f"f{number:02}").write_text(f"{number}\n" * number)
    store = snapshots(tmp_path, work)
    (changes,) = store.changes([(EMPTY, store.save().tree)])
    blobs = [change.new.blob for change in changes if change.new]
    assert list(store.contents(blobs)) == [f"{number}\n".encode() * number for number in range(80)]
