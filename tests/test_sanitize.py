"""What the sanitizer lets through, and what it never does."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from prunecli.util.sanitize import one_line, shortened, source, visible, without_password

# Code points without a glyph that Unicode files under letters or marks.
FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\ufe00\uffa0\U000e0100"

text_with_anything = st.text(st.characters(codec=None), max_size=60)


def hides_or_acts(char: str) -> bool:
    if char in "\n\u200c\u200d\ufe0e\ufe0f":  # judged by their neighbors, in tests of their own
        return False
    code = ord(char)
    return (
        unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        or char in FILLERS
        or code & 0xFFFE == 0xFFFE
        or 0xFDD0 <= code <= 0xFDEF
    )


def test_no_code_point_of_unicode_acts_or_hides_when_it_stands_alone():
    """Control, format, separator, surrogate and glyphless code points, all 1,114,112 looked at."""
    everything = [chr(code) for code in range(0x110000)]
    let_through = [hex(ord(char)) for char in everything if hides_or_acts(char) and visible(char) == char]
    assert let_through == []


def test_a_joiner_or_selector_alone_is_shown():
    assert [visible(char) for char in "\u200c\u200d\ufe0e\ufe0f"] == ["\ufffd"] * 4


@given(text_with_anything)
def test_the_length_stays_and_a_second_pass_changes_nothing(text: str):
    once = visible(text)
    assert len(once) == len(text)
    assert visible(once) == once


@given(text_with_anything)
def test_nothing_hidden_survives_in_any_mixture(text: str):
    assert not [char for char in visible(text) if hides_or_acts(char)]
    assert not [char for char in source(text) if hides_or_acts(char)]
    assert "\n" not in one_line(text)


@given(text_with_anything)
def test_what_is_left_can_be_encoded(text: str):
    assert visible(text).encode("utf-8").decode("utf-8") == visible(text)


@given(st.text(st.sampled_from("a b\u200d\u200c\ufe0f\ufe0eé👩1"), max_size=12))
def test_joiners_never_pile_up(text: str):
    shown = visible(text)
    assert all(pair not in shown for pair in ("\u200d\u200d", "\u200c\u200c", "\ufe0f\ufe0f", "\ufe0f\ufe0e"))


def test_escape_sequences_become_readable():
    assert visible("\x1b[31mred\x07\x7f\x9b31m") == "␛[31mred␇␡\ufffd31m"


def test_the_line_feed_stays_and_the_tab_is_shown():
    assert visible("a\tb\r\nc") == "a␉b␍\nc"


def test_bidirectional_overrides_are_shown():
    assert visible("user\u202e\u2066 admin") == "user\ufffd\ufffd admin"


def test_emoji_sequences_flags_and_key_caps_stay_whole():
    for text in (
        "👩\u200d👩\u200d👧",
        "❤\ufe0f\u200d🔥",
        "🏳\ufe0f\u200d🌈",
        "1\ufe0f\u20e3",
        "👍🏽",
        "🇨🇭",
        "☎\ufe0e",
    ):
        assert visible(text) == text


def test_a_joiner_between_letters_is_shown_because_terminals_disagree_on_its_width():
    assert visible("a\u200db") == "a\ufffdb"


def test_persian_keeps_its_spelling():
    assert visible("می\u200cخواهم") == "می\u200cخواهم"


def test_text_of_any_script_is_left_alone():
    for text in (
        "naïve café",
        "你好，世界",
        "Привет",
        "שלום",
        "नमस्ते",
        "e\u0301",
        "\u00a0\u2003\u3000",
        "\ue0b0",
        "─┼═█░",
    ):
        assert visible(text) == text


def test_source_normalizes_line_ends_and_tabs():
    assert source("a\r\nb\r\n") == "a\nb\n"
    assert source("a\tb\n\tc") == "a   b\n    c"


def test_a_lone_carriage_return_can_not_overwrite_a_line():
    assert source("rm -rf /\rls") == "rm -rf /␍ls"


def test_one_line_shows_line_feeds():
    assert one_line("a\nb\t") == "a␊b␉"


def test_lone_surrogates_are_replaced():
    assert visible("\ud83d x \ude00") == "\ufffd x \ufffd"


def test_only_a_text_that_is_too_long_is_shortened():
    assert shortened("abcd", 4) == "abcd"
    assert shortened("abcde", 4) == "abc…"


def test_an_address_is_shown_without_what_may_be_a_password():
    assert without_password("https://u:p@w@x/v1?key=k#f") == "https://***@x/v1?***"
    assert without_password("u:p@[") == "***@["
    assert without_password("https://x.example/v1") == "https://x.example/v1"
