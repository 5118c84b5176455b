"""Private files: of mode 0600, replaced completely or not at all, and read only if nobody else can use them."""

import os
import stat
from pathlib import Path

import pytest

from prunecli.util.private_file import read_private, write_private


@pytest.mark.parametrize("sync", [False, True])
def test_a_private_file_replaces_the_earlier_one_and_only_the_user_can_read_it(
    tmp_path: Path, sync: bool
) -> None:
    path = tmp_path / "key"
    path.write_text("earlier")
    path.chmod(0o644)
    write_private(path, b"new", sync=sync)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["key"]


def test_a_private_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_private(tmp_path / "key", b"new")
    assert os.listdir(tmp_path) == ["key"]


@pytest.mark.parametrize(
    ("mode", "is_secret", "problem"),
    [
        (0o600, True, ""),
        (0o640, True, "only you can read"),
        (0o644, False, ""),
        (0o664, False, "only you can write to"),
    ],
)
def test_a_file_that_others_could_use_is_not_read(
    tmp_path: Path, mode: int, is_secret: bool, problem: str
) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"secret")
    path.chmod(mode)
    if not problem:
        assert read_private(path, 3, is_secret=is_secret) == b"sec"
        return
    with pytest.raises(PermissionError, match=problem):
        read_private(path, 3, is_secret=is_secret)


def test_a_link_and_a_folder_are_not_read(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    for path in (tmp_path / "link", tmp_path):
        with pytest.raises(OSError):
            read_private(path, 3, is_secret=False)
