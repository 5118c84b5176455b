"""The draft that a crash does not lose."""

from pathlib import Path

from prunecli.tui.prompting import draft
from prunecli.tui.prompting.draft import Draft


def test_a_draft_comes_back_with_its_pastes_byte_for_byte(tmp_path: Path) -> None:
    path = draft.path_of(tmp_path / "data" / "history.jsonl", Path("/work/app"))
    kept = Draft("look at [Pasted #1 +2 lines]", {1: "a\r\n\x1b\u2028b\ud800"})
    draft.save(path, kept)
    assert draft.load(path) == kept
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_each_directory_has_a_draft_of_its_own(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    assert draft.path_of(history, Path("/a/b-c")) != draft.path_of(history, Path("/a-b/c"))


def test_a_blank_draft_removes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "draft.json"
    draft.save(path, Draft("a"))
    draft.save(path, Draft(" \n"))
    assert not path.exists()
    draft.save(path, Draft())
    assert draft.load(path) == Draft()


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
        assert draft.load(path) == Draft()
