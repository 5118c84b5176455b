"""The history of prompts."""

import json
import os
from pathlib import Path

import pytest

from prunecli.front.presentation import prompt_history as history
from prunecli.front.presentation.prompt_history import History


def test_what_is_appended_is_read_back_oldest_first_and_each_text_once(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history.jsonl"
    for text in ("one", "two\nlines", "one", "drei ✓"):
        history.append(path, text, "/work", 5)
    assert history.load(path) == ["two\nlines", "one", "drei ✓"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    lines = [
        b'{"text": "a"}',
        b"\xff\xfe",
        b"[1]",
        b'{"text": 3}',
        b'{"te',
        b'{"text": "b"}',
        b"",
        b"[" * 9_000,
    ]
    path.write_bytes(b"\n".join(lines))
    assert history.load(path) == ["a", "b"]


def test_there_is_no_history_at_first(tmp_path: Path) -> None:
    assert history.load(tmp_path / "none.jsonl") == []


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps({"text": f"prompt {n} " + "x" * 900}) + "\n" for n in range(9_000)))
    entries = history.load(path)
    assert len(entries) == history.MOST_ENTRIES
    assert entries[-1].startswith("prompt 8999 ")


def test_a_huge_prompt_is_left_to_the_session(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history.append(path, "x" * (history.LONGEST + 1), "/", 1)
    assert not path.exists()


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("")
    os.symlink(tmp_path / "secret", tmp_path / "history.jsonl")
    with pytest.raises(OSError):
        history.append(tmp_path / "history.jsonl", "a", "/", 1)
    assert (tmp_path / "secret").read_text() == ""


def test_up_goes_back_and_down_comes_back_to_what_was_being_typed() -> None:
    walk = History(["one", "two"])
    assert [walk.older("dra"), walk.older("two"), walk.older("one")] == ["two", "one", None]
    assert [walk.newer(), walk.newer(), walk.newer()] == ["two", "dra", None]


def test_an_entry_equal_to_what_stands_there_is_passed_over() -> None:
    assert History(["one", "two"]).older("two") == "one"


def test_what_was_sent_is_the_newest_entry_and_ends_the_walk() -> None:
    walk = History(["one", "two"])
    walk.older("")
    walk.add("one")
    assert walk.entries == ["two", "one"]
    assert walk.newer() is None
    walk.add("   ")
    assert walk.entries == ["two", "one"]


def test_what_the_file_held_goes_before_what_was_typed_meanwhile() -> None:
    walk = History()
    walk.add("new")
    walk.preload(["old", "new"])
    assert walk.entries == ["old", "new"]
