"""Each folder that a start uses is missing, closed, read-only, somebody else's, or on a disk without inodes."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.faults.disks import can_mount
from tests.faults.test_start import started, told

SOMEBODY = 65534
DROPPED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""What starts a program for which modes hold, although it is root's."""


@contextmanager
def missing(place: Path) -> Iterator[None]:
    place.rmdir()
    yield


@contextmanager
def closed(place: Path) -> Iterator[None]:
    with _mode(place, 0):
        yield


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    with _mode(place, 0o555):
        yield


@contextmanager
def somebody_elses(place: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(place, SOMEBODY, SOMEBODY)
    with _mode(place, 0o700):
        yield


@contextmanager
def _inodes(place: Path, inodes: int) -> Iterator[None]:
    if not can_mount():
        pytest.skip("no file system can be mounted here")
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"nr_inodes={inodes},mode=0700", "tmpfs", str(place)], check=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def _mode(place: Path, mode: int) -> Iterator[None]:
    place.chmod(mode)
    try:
        yield
    finally:
        place.chmod(0o700)


def no_inode(place: Path) -> AbstractContextManager[None]:
    return _inodes(place, 1)


def two_inodes(place: Path) -> AbstractContextManager[None]:
    """A file can be made, but not all that is needed."""
    return _inodes(place, 3)


REFUSED = {
    ("cwd", missing): (2, "the current directory no longer exists"),
    ("cwd", closed): (2, "cannot read .prunecli/config.toml: Permission denied"),
    ("cwd", somebody_elses): (2, "cannot read .prunecli/config.toml: Permission denied"),
    ("config", closed): (2, "cannot read config.toml: Permission denied"),
    ("config", somebody_elses): (2, "cannot read config.toml: Permission denied"),
    ("data", closed): (4, "make the folder writable, or start with --no-session"),
    ("data", read_only): (4, "make the folder writable, or start with --no-session"),
    ("data", somebody_elses): (4, "make the folder writable, or start with --no-session"),
    ("data", no_inode): (4, "make the folder writable, or start with --no-session"),
    ("data", two_inodes): (4, "make the folder writable, or start with --no-session"),
}
"""The exit code and what is said. In every other case the program works."""


@pytest.mark.parametrize("fault", [missing, closed, read_only, somebody_elses, no_inode, two_inodes])
@pytest.mark.parametrize("place", ["cwd", "home", "data", "config", "temp"])
def test_a_folder_that_can_not_be_used_costs_one_clear_line(
    tmp_path: Path, place: str, fault: Callable[[Path], AbstractContextManager[None]]
) -> None:
    folders = {name: tmp_path / name for name in ("cwd", "home", "data", "config", "temp")}
    for folder in folders.values():
        folder.mkdir()
    held = os.geteuid() == 0 and fault in (closed, read_only, somebody_elses)
    if held and shutil.which("setpriv") is None:
        pytest.skip("root needs setpriv, to be held by modes")
    descriptor = os.open(folders["cwd"], os.O_PATH)  # a closed folder can't be entered by its name
    with fault(folders[place]):
        done = started(
            tmp_path,
            under=DROPPED if held else (),
            before=lambda: os.fchdir(descriptor),
            HOME=str(folders["home"]),
            PRUNECLI_HOME=str(folders["data"]),
            XDG_CONFIG_HOME=str(folders["config"]),
            TMPDIR=str(folders["temp"]),
        )
    os.close(descriptor)
    told(done, *REFUSED.get((place, fault), (0, "")))
