"""Large and strange pastes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tui.prompting.pastes import Pastes, fits, unified


def test_a_large_paste_is_a_mark_and_goes_in_byte_for_byte() -> None:
    """Intact behind its placeholder."""
    text = "\n".join(f"line {n}" for n in range(412))
    pastes = Pastes()
    mark = pastes.marked(text)
    assert mark == "[Pasted #1, 412 lines]"
    assert pastes.expanded(f"look: {mark}!") == f"look: {text}!"


def test_a_line_end_at_the_end_begins_no_line() -> None:
    assert Pastes().marked("line\n" * 200) == "[Pasted #1, 200 lines]"


def test_a_mark_of_an_older_draft_is_known() -> None:
    pastes = Pastes()
    pastes.texts[1] = "whole"
    assert pastes.expanded("[Pasted #1 +2 lines]") == "whole"


def test_a_long_line_says_its_characters() -> None:
    assert Pastes().marked("x" * 24_000) == "[Pasted #1, 24,000 characters]"


def test_a_short_paste_stands_as_it_is() -> None:
    assert Pastes().marked("two\nlines\twith a tab") == "two\nlines\twith a tab"


@pytest.mark.parametrize("text", ["a\x1b[31m", "a\x0bb", "a\u2028b", "a\x85b", "a\u202eb", "a\x00b", "a\rb"])
def test_what_an_editor_would_change_or_show_wrongly_is_kept_behind_a_mark(text: str) -> None:
    pastes = Pastes()
    mark = pastes.marked(text)
    assert mark.startswith("[Pasted #1")
    assert pastes.expanded(mark) == text


def test_each_mark_has_a_number_of_its_own_and_an_unknown_one_stays() -> None:
    pastes = Pastes()
    first, second = pastes.mark("a"), pastes.mark("b")
    assert pastes.expanded(f"{second}{first}[Pasted #9 +1 lines]") == "ba[Pasted #9 +1 lines]"


def test_a_mark_is_found_before_the_cursor_to_be_deleted_whole() -> None:
    pastes = Pastes()
    mark = pastes.mark("a\nb")
    line = f"see {mark} and"
    assert pastes.mark_before(line, 4 + len(mark)) == len(mark)
    assert pastes.mark_before(line, 4 + len(mark) - 1) == 0
    assert pastes.mark_before("[Pasted #7 +2 lines]", 20) == 0


def test_terminals_paste_carriage_returns_for_line_ends() -> None:
    assert unified("a\r\nb\rc\n") == "a\nb\nc\n"


@given(st.text())
def test_no_paste_is_ever_changed(text: str) -> None:
    pastes = Pastes()
    assert pastes.expanded(pastes.mark(text)) == text
    if fits(text):
        assert text.split("\n") == text.splitlines() + ([""] if text.endswith("\n") or not text else [])
