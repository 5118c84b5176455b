"""How styled text is wrapped into rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, get_character_cell_size
from rich.style import Style

from prunecli.tui.transcript.rows import (
    _NOT_NARROW,
    NO_GUTTER,
    Dress,
    Row,
    breaks,
    clip,
    clusters,
    flow,
    width_of,
)
from prunecli.util.sanitize import visible

PLAIN = Style()
DRESS = Dress(PLAIN)
letters = st.text(st.sampled_from("ab é你，。 👩\u200d👧\ufe0f❤e\u0301—’"), max_size=40)


def wrapped(text: str, width: int, hard: bool = False) -> list[str]:
    return [text[start:end] for start, end in breaks(text, width, hard)]


@given(letters, st.integers(1, 12), st.booleans())
def test_rows_fit_and_lose_nothing_but_one_space_at_a_break(text: str, width: int, hard: bool):
    place = 0
    for start, end in breaks(text, width, hard):
        assert text[place:start] in (("",) if hard else ("", " "))
        row = text[start:end]
        assert cell_len(row) <= width or len(list(clusters(row))) == 1
        place = end
    assert place == len(text)


@given(st.lists(letters, min_size=1, max_size=4), st.integers(4, 30), st.booleans())
def test_each_row_is_as_wide_as_it_says(parts: list[str], width: int, hard: bool):
    out: list[Row] = []
    gutter = NO_GUTTER.then("> ", PLAIN)
    flow([(visible(part), PLAIN) for part in parts], width, out, gutter, gutter, hard=hard)
    for row in out:
        assert sum(cell_len(segment.text) for segment in row.segments) == row.cells
        strip = row.strip(width, DRESS)
        assert strip.cell_length == width == cell_len(strip.text)


@given(st.lists(letters, min_size=1, max_size=4), st.integers(3, 30), st.booleans())
def test_rows_can_be_joined_to_what_was_wrapped(parts: list[str], width: int, hard: bool):
    out: list[Row] = []
    flow([(part, PLAIN) for part in parts], width, out, hard=hard)
    joined = out[0].body + "".join((row.join or "") + row.body for row in out[1:])
    assert joined == "".join(parts)
    assert out[0].join is None


@pytest.mark.slow
def test_characters_taken_for_narrow_are_narrow():
    wrong = [
        hex(c)
        for c in range(0x110000)
        if not _NOT_NARROW.match(chr(c)) and get_character_cell_size(chr(c)) != 1
    ]
    assert wrong == []


def test_words_stay_whole_and_long_ones_are_cut():
    assert wrapped("to be or not", 6) == ["to be", "or not"]
    assert wrapped("incomprehensible", 6) == ["incomp", "rehens", "ible"]
    assert wrapped("to be or", 4, hard=True) == ["to b", "e or"]


def test_text_without_spaces_breaks_between_wide_characters_but_not_before_a_full_stop():
    assert wrapped("你好你好。你好", 8) == ["你好你", "好。你好"]


def test_emoji_sequences_are_not_cut():
    family = "👩\u200d👩\u200d👧"
    assert wrapped(family * 3, 4) == [family * 2, family]


def test_a_wide_character_in_one_column_is_cropped_to_it():
    out: list[Row] = []
    flow([("你", PLAIN)], 1, out)
    assert out[0].strip(1, DRESS).cell_length == 1


def test_the_strip_of_a_row_is_made_once_for_a_width():
    row = Row((), 0)
    assert row.strip(10, DRESS) is row.strip(10, DRESS)
    assert row.strip(12, DRESS).cell_length == 12


def test_clipping_leaves_an_ellipsis_and_never_half_a_character():
    assert clip("abcdef", 6) == "abcdef"
    assert clip("abcdef", 4) == "abc…"
    assert clip("你好你好", 4) == "你…"
    assert width_of(clip("你好你好", 4)) <= 4
    assert clip("abc", 1) == "…"
    assert clip("abc", 0) == ""
