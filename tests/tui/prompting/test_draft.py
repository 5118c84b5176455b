"""The draft that a crash does not lose."""

import os
import subprocess
import sys
from pathlib import Path

from prunecli.tui.prompting import draft
from prunecli.tui.prompting.draft import Draft, DraftFile, load


def test_a_draft_comes_back_with_its_pastes_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "data" / "draft.json"
    kept = Draft("look at [Pasted #1, 2 lines]", {1: "a\r\n\x1b\u2028b\ud800"})
    draft.save(path, kept)
    assert draft.load(path) == kept
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_each_directory_has_a_draft_of_its_own(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    assert draft.folder_of(history, Path("/a/b-c")) != draft.folder_of(history, Path("/a-b/c"))


def test_a_blank_draft_removes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "draft.json"
    draft.save(path, Draft("a"))
    draft.save(path, Draft(" \n"))
    assert not path.exists()
    draft.save(path, Draft())
    assert draft.load(path) is None


def test_a_damaged_draft_is_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "draft.json"
    for bad in (
        b"",
        b"{",
        b"[]",
        b'{"text": "a"}',
        b'{"text": "a", "pastes": {"x": "y"}}',
        b"\xff",
        b"[" * 9_000,
    ):
        path.write_bytes(bad)
        assert draft.load(path) is None


def test_a_running_program_keeps_its_draft_to_itself(tmp_path: Path) -> None:
    first, second = DraftFile(tmp_path), DraftFile(tmp_path)
    first.save(Draft("the first one's"))
    assert second.adopt() == Draft()
    second.save(Draft("the second one's"))
    assert load(first.path) == Draft("the first one's")
    assert load(second.path) == Draft("the second one's")


def test_what_a_program_left_is_taken_over_once_the_newest_first(tmp_path: Path) -> None:
    for number, text in enumerate(("old", "new")):
        left = DraftFile(tmp_path)
        left.save(Draft(text))
        os.utime(left.path, (number, number))
        left.close()
    taken = DraftFile(tmp_path)
    assert taken.adopt() == Draft("new")
    assert load(taken.path) == Draft("new")
    assert DraftFile(tmp_path).adopt() == Draft("old")


def test_nothing_is_left_of_a_draft_that_was_sent(tmp_path: Path) -> None:
    mine = DraftFile(tmp_path)
    mine.save(Draft("half"))
    mine.save(Draft())
    mine.close()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_program_loses_its_lock(tmp_path: Path) -> None:
    code = "from prunecli.tui.prompting.draft import *; d = DraftFile(Path(%r)); d.save(Draft('left')); os._exit(9)"
    subprocess.run([sys.executable, "-c", code % str(tmp_path)], check=False)
    assert DraftFile(tmp_path).adopt() == Draft("left")
