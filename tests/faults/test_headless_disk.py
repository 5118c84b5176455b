"""The program itself, headless, on a disk that is full, read-only or broken: exit 4, one line and one hint."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prunecli.model.events import UserMessage
from prunecli.model.messages import plain_text
from prunecli.session.log import read_log
from tests import preloaded
from tests.faults.disks import can_mount, small_disk

ROOT = Path(__file__).parents[2]


def prunecli(
    folder: Path,
    *words: str,
    home: Path | None = None,
    before: Callable[[], None] | None = None,
    under: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    environ = {
        "HOME": str(folder / "home"),
        "PRUNECLI_HOME": str(home or folder / "data"),
        "PATH": os.environ["PATH"],
        "PRUNECLI_SANDBOX": "off",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",  # bytecode that is cut off at the limit would stay beside the sources
    }
    line = ["-p", "hello", "--model", "demo", *words]
    if not (before or under):
        return preloaded.run(line, cwd=folder, env=environ)
    return subprocess.run(
        [*under, sys.executable, "-m", "prunecli", *line],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=before,
        check=False,
    )


def test_bytes_that_are_no_text_are_no_traceback(tmp_path: Path) -> None:
    """As an argument and piped in, in a locale that is strict."""
    done = subprocess.run(
        [sys.executable, "-m", "prunecli", "-p", b"hi \xff\xed\xa0\x80", "--model", "demo"],
        cwd=tmp_path,
        env={
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTHONIOENCODING": "utf-8:strict",
        },
        input=b"and \xfe this",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.rglob("*.jsonl")
    said = [r.event for r in read_log(path).records if isinstance(r.event, UserMessage)]
    assert "\ufffd" in plain_text(said[0].content)


def refused(done: subprocess.CompletedProcess[str], *words: str) -> list[str]:
    """The two lines of a refusal: exit 4, what and what to do, no traceback."""
    assert done.returncode == 4, (done.returncode, done.stderr)
    lines = [line for line in done.stderr.splitlines() if "No API key" not in line]
    assert len(lines) == 2, lines
    assert all(word in done.stderr for word in words), done.stderr
    assert "Traceback" not in done.stderr
    return lines


def logs(home: Path) -> list[Path]:
    return sorted((home / "sessions").glob("*/*.jsonl"))


@pytest.mark.parametrize("size", [1, 500, 4_000])
def test_a_limit_of_file_sizes_is_no_death_by_signal(tmp_path: Path, size: int) -> None:
    done = prunecli(
        tmp_path, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    )
    refused(done, "File too large", "free some space")
    for path in logs(tmp_path / "data"):
        assert path.stat().st_size <= size
        assert path.read_bytes().endswith(b"\n") or not path.stat().st_size


@pytest.mark.skipif(not can_mount(), reason="needs a file system of its own")
def test_a_full_file_system_is_said(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "4k") as disk:
        said, hint = refused(prunecli(tmp_path / "w", home=disk), "No space left", "free some space")
    assert "No space left" in said
    assert "free some space" in hint


@pytest.mark.skipif(not can_mount(), reason="needs a file system of its own")
def test_a_read_only_file_system_is_said_and_no_session_works(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "100k") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        refused(prunecli(tmp_path / "w", home=disk), "Read-only file system", "--no-session")
        assert prunecli(tmp_path / "w", "--no-session", home=disk).returncode == 0


def test_a_folder_that_can_not_be_made_is_said_and_no_session_works(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("in the way")
    refused(prunecli(tmp_path / "w", home=tmp_path / "taken"), "Not a directory", "--no-session")
    assert prunecli(tmp_path / "w", "--no-session", home=tmp_path / "taken").returncode == 0


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("number", [1, 2])
def test_a_sync_that_the_system_fails_is_said(tmp_path: Path, number: int) -> None:
    """The system's own answer."""
    inject = f"inject=fdatasync:error=EIO:when={number}+"
    under = ("strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", inject)
    refused(prunecli(tmp_path, under=under), "cannot sync: Input/output error", "check the disk")
    (path,) = logs(tmp_path / "data")
    assert read_log(path).bad == []
    again = prunecli(tmp_path, "--resume", path.stem)
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("wanted", ["../../x", "/etc/passwd", "a\x01b", "x" * 300, "-rf", "%2e%2e", "*"])
def test_a_hostile_id_is_no_session_and_makes_no_file(tmp_path: Path, wanted: str) -> None:
    """As an argument of the program."""
    done = prunecli(tmp_path / "w", f"--resume={wanted}")
    assert done.returncode in (2, 4), done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w"]
    assert not logs(tmp_path / "w" / "data")
