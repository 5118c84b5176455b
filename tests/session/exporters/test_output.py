"""Files of exports: only their owner can read them, nothing is overwritten, no link is followed."""

from pathlib import Path

import pytest

from prunecli.front.html import write_new
from prunecli.util.errors import UsageError


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    write_new(tmp_path / "a", "text é\n")
    assert (tmp_path / "a").read_bytes() == "text é\n".encode()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o644)
    with pytest.raises(UsageError, match="exists"):
        write_new(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "old"
    write_new(tmp_path / "a", "new", force=True)
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("force", [False, True])
def test_a_link_is_never_followed(tmp_path: Path, force: bool) -> None:
    (tmp_path / "target").write_text("precious")
    for name, target in (("link", "target"), ("dangling", "nowhere")):
        (tmp_path / name).symlink_to(tmp_path / target)
        with pytest.raises(UsageError, match="symbolic link"):
            write_new(tmp_path / name, "new", force=force)
    assert (tmp_path / "target").read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["", "missing/x", "a\0b", "n" * 300])
@pytest.mark.parametrize("force", [False, True])
def test_what_cannot_be_written_is_one_clear_error(tmp_path: Path, name: str, force: bool) -> None:
    with pytest.raises(UsageError):
        write_new(tmp_path / name, "text", force=force)
    assert list(tmp_path.iterdir()) == []
