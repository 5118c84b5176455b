"""What happens outside of the screen."""

import os
from pathlib import Path

import pytest

from prunecli.runtime import outside
from prunecli.util.errors import PrunecliError


def script(folder: Path, body: str) -> str:
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


async def test_what_the_editor_leaves_is_taken_over_byte_for_byte(tmp_path: Path) -> None:
    editor = script(tmp_path, 'printf "%s" "$(cat "$1") and\tmore ✓" > "$1"')
    text = await outside.edit_text("some text", {"EDITOR": editor, "PATH": os.defpath}, tmp_path)
    assert text == "some text and\tmore ✓"


async def test_the_line_end_that_editors_add_is_taken_away_again(tmp_path: Path) -> None:
    editor = script(tmp_path, 'echo "new" > "$1"')
    assert await outside.edit_text("old", {"EDITOR": editor, "PATH": os.defpath}, tmp_path) == "new"


async def test_visual_counts_more_than_editor_and_may_have_flags(tmp_path: Path) -> None:
    editor = script(tmp_path, 'echo "$1" > "$2"')
    env = {"VISUAL": f"{editor} --wait", "EDITOR": "false", "PATH": os.defpath}
    assert await outside.edit_text("", env, tmp_path) == "--wait"


def left_behind(name: Path) -> bool:
    return Path(name.read_text().strip()).exists()


async def test_an_editor_that_fails_takes_nothing_over_and_leaves_no_file(tmp_path: Path) -> None:
    editor = script(tmp_path, 'echo "$1" > "$PWD/name"; exit 3')
    with pytest.raises(PrunecliError, match="exited with 3"):
        await outside.edit_text("secret", {"EDITOR": editor, "PATH": os.defpath}, tmp_path)
    assert not left_behind(tmp_path / "name")


@pytest.mark.parametrize("editor", ["no-such-editor-anywhere", "unclosed 'quote"])
async def test_an_editor_that_is_not_there_is_said(tmp_path: Path, editor: str) -> None:
    with pytest.raises(PrunecliError):
        await outside.edit_text("", {"EDITOR": editor, "PATH": os.defpath}, tmp_path)


async def test_the_editor_does_not_get_our_credentials(tmp_path: Path) -> None:
    editor = script(tmp_path, 'echo "key=$ANTHROPIC_API_KEY" > "$1"')
    env = {"EDITOR": editor, "PATH": os.defpath, "ANTHROPIC_API_KEY": "sk-ant-secret"}
    assert await outside.edit_text("", env, tmp_path) == "key="


def git(folder: Path, head: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(head)
    return folder


def test_the_branch_is_read_without_starting_git(tmp_path: Path) -> None:
    repository = git(tmp_path / "app", "ref: refs/heads/feature/x\n")
    (repository / "src").mkdir()
    assert outside.branch_of(repository / "src") == "feature/x"
    assert outside.branch_of(git(tmp_path / "b", "0123456789abcdef\n")) == "01234567"
    assert outside.branch_of(tmp_path / "none") == ""


def test_a_worktree_names_where_its_branch_is(tmp_path: Path) -> None:
    """Only the name of a branch is read from there."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "HEAD").write_text("ref: refs/heads/side\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {tmp_path / 'real'}\n")
    assert outside.branch_of(tmp_path / "tree") == "side"


def test_files_are_read_for_a_diff_only_where_they_are_text_of_moderate_size(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ä\r\n", newline="")
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe")
    (tmp_path / "large").write_bytes(b"x" * (outside.MOST_READ + 1))
    os.mkfifo(tmp_path / "pipe")
    assert outside.read_text("a.txt", tmp_path) == "ä\r\n"
    assert [
        outside.read_text(name, tmp_path) for name in ("b.bin", "large", "pipe", "gone", "a\0b", ".")
    ] == [None] * 6
