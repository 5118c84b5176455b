"""How the first frame looks."""

import json
from pathlib import Path

import pytest

from prunecli.paths import Places
from prunecli.tui import look
from prunecli.tui.themes import load_theme, theme_names

PLACES = Places.of({"HOME": "/nonexistent"})


@pytest.mark.parametrize("name", theme_names(PLACES))
def test_every_theme_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    kept = look.Look(load_theme(PLACES, name).to_textual(), mouse=False)
    look.save(tmp_path / "data" / "look.json", kept)
    assert look.load(tmp_path / "data" / "look.json") == kept


def test_there_is_no_look_at_first(tmp_path: Path) -> None:
    assert look.load(tmp_path / "look.json") is None


def test_a_damaged_look_is_no_look(tmp_path: Path) -> None:
    path = tmp_path / "look.json"
    look.save(path, look.Look(load_theme(PLACES, "prune-dark").to_textual(), mouse=True))
    good = json.loads(path.read_text())
    bad: list[object] = [None, [], {}, {**good, "theme": {}}, {**good, "variables": []}]
    bad += [{**good, "theme": {**good["theme"], "primary": "url(x)"}}]
    bad += [{**good, "variables": {**good["variables"], "muted": "red; color: blue"}}]
    bad += [{**good, "variables": {**good["variables"], "muted": 5}}]
    for value in bad:
        path.write_text(json.dumps(value))
        assert look.load(path) is None
    for text in (b"", b"{", b"\xff", b"[" * 9_000):
        path.write_bytes(text)
        assert look.load(path) is None


def test_a_place_that_cannot_be_written_costs_only_the_next_first_frame(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file in the way")
    look.save(tmp_path / "data" / "look.json", look.Look(load_theme(PLACES, "dusk").to_textual(), mouse=True))
    assert look.load(tmp_path / "data" / "look.json") is None
