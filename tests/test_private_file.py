"""Private files: of mode 0600, replaced completely or not at all."""

import os
import stat
from pathlib import Path

import pytest

from prunecli.private_file import write_private


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
