"""What the environment says of the terminal: what is refused by name, and what is written where it has no UTF-8."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from prunecli.tui.terminal_environment import ascii_letters, check, is_utf8
from prunecli.util.errors import UsageError


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"TEXTUAL_COLOR_SYSTEM": "many"}, "TEXTUAL_COLOR_SYSTEM: unknown value 'many'"),
        ({"TEXTUAL_LOG": "/dev/null/log"}, "TEXTUAL_LOG: /dev/null/log: Not a directory"),
        ({"TEXTUAL_LOG": "/"}, "TEXTUAL_LOG: /: Is a directory"),
        ({"COLUMNS": "65535"}, "COLUMNS: 65535 is over 10,000"),
        ({"LINES": "9" * 5000}, f"LINES: {'9' * 40} is over 10,000"),
        ({"TEXTUAL_FPS": "9" * 40}, f"TEXTUAL_FPS: {'9' * 40} is over 10,000"),
        ({"TEXTUAL_PRESS": "wait:x"}, "TEXTUAL_PRESS: prunecli takes keys from the terminal only"),
    ],
)
def test_a_variable_that_textual_does_not_understand_is_named(environ: dict[str, str], named: str) -> None:
    with pytest.raises(UsageError) as refused:
        check(environ)
    assert refused.value.message == named


def test_what_it_understands_passes(tmp_path: Path) -> None:
    check({})
    check({"TEXTUAL_COLOR_SYSTEM": "256", "TEXTUAL_LOG": str(tmp_path / "log")})
    check({"COLUMNS": "300", "LINES": "many", "TEXTUAL_FPS": "-1", "TEXTUAL_PRESS": ""})


@pytest.mark.parametrize(
    ("environ", "utf8"),
    [
        ({}, True),
        ({"LANG": "C.UTF-8"}, True),
        ({"LANG": "de_DE.utf8"}, True),
        ({"LANG": "C"}, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),
        ({"LC_CTYPE": "C.UTF-8"}, True),
        ({"LC_ALL": "POSIX", "LANG": "C.UTF-8"}, False),
        ({"LANG": "en_US.ISO-8859-1"}, False),
        ({"LANG": "C.UTF-8", "TERM": "linux"}, False),
    ],
)
def test_the_locale_says_what_the_terminal_speaks(environ: dict[str, str], utf8: bool) -> None:
    assert is_utf8(environ) is utf8


def test_our_signs_have_readable_stand_ins_of_the_same_width() -> None:
    assert ascii_letters("❯ ✓ ─│┌ ▓░ é … ×") == "> v -|+ #. e ~ x"


def test_control_sequences_stay_as_they_are() -> None:
    assert ascii_letters("\x1b[1m❯\x1b[0m") == "\x1b[1m>\x1b[0m"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_whatever_is_drawn_becomes_ascii_of_the_same_width(text: str) -> None:
    shown = ascii_letters(text)
    assert shown.isascii()
    assert len(shown) == sum(map(cell_len, text))
