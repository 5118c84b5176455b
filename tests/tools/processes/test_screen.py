"""Output as a screen shows it: what was overwritten or erased is gone, whatever the pieces in which it came."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prunecli.tools.processes.screen import ROWS, Screen, folded

LIMIT = 1_000_000


def shown(data: bytes, *sizes: int) -> tuple[str, bool]:
    screen = Screen(LIMIT)
    for size in (*sizes, len(data)):
        screen.add(data[:size])
        data = data[size:]
    return screen.ended().text(LIMIT)[0], screen.is_folded


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("10%\r50%\rdone\n", "done\n"),
        ("100%\r\x1b[Kdone\n", "done\n"),
        ("loading...\r          \rready\n", "ready\n"),
        ("long line\rab\n", "abng line\n"),
        ("N\bNA\bAM\bME\bE\n", "NAME\n"),
        ("_\bu_\bn\n", "un\n"),
        ("\x1b[1;31merror\x1b[0m: no\n", "error: no\n"),
        ("\x1b]0;title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "text link\n"),
        ("a: 1\nb: 1\n\x1b[2A\x1b[2Ka: 2\n\x1b[2Kb: 2\nend\n", "a: 2\nb: 2\nend\n"),
        ("a\nb\n\x1b[2A\x1b[Jc\n", "c\n"),
        ("left\x1b[3Dx\n", "lxft\n"),
        ("a\x1b[5Gb\n", "a   b\n"),
        ("é\rü\n日本\n", "ü\n日本\n"),
        ("\x1b[99999999999A\x1b[99999999999Cx"[:14] + "x\n", "x\n"),
    ],
)
def test_what_a_screen_no_longer_shows_is_folded(printed: str, expected: str) -> None:
    assert shown(printed.encode()) == (expected, True)


@pytest.mark.parametrize(
    "printed", ["", "plain\n", "keeps its blanks  \n", "two\nlines", "tab\t\f \0\n", "x" * 250_000]
)
def test_other_output_is_as_it_was(printed: str) -> None:
    assert shown(printed.encode()) == (printed.replace("\0", "\ufffd"), False)
    assert folded(printed) is printed


def test_a_line_end_of_windows_is_a_line_end_and_no_fold() -> None:
    assert shown(b"a\r\nb\r\r\n") == ("a\nb\n", False)


def test_bytes_that_are_no_text_pass_through() -> None:
    screen = Screen(LIMIT)
    screen.add(b"\xff\xfe\r\x80\n")
    assert screen.ended().raw == b"\x80\xfe\n"
    assert screen.raw.raw == b"\xff\xfe\r\x80\n"


@given(
    st.lists(
        st.sampled_from(
            ["a", "bc", "\r", "\n", "\r\n", "\b", "é", "\x1b[K", "\x1b[1A", "\x1b[31m", "\x1b]0;t\x07"]
        )
    ),
    st.lists(st.integers(0, 5)),
)
def test_it_does_not_matter_in_which_pieces_output_comes(parts: list[str], sizes: list[int]) -> None:
    data = "".join(parts).encode()
    text, is_folded = shown(data)
    assert shown(data, *sizes) == (text, is_folded)
    assert not set(text) & set("\r\b\x1b")
    assert folded(text) == text


def test_the_memory_of_a_long_output_is_bounded_and_its_last_rows_can_still_change() -> None:
    screen = Screen(1_000)
    for number in range(10_000):
        screen.add(f"{number}\n".encode())
    screen.add(f"\x1b[{ROWS * 2}A\rfirst of the last\n".encode())
    text = screen.ended().text(1_000)[0]
    assert text.startswith("0\n1\n")
    assert "first of the last" in text
    assert text.endswith("9999\n")


def test_commands_that_print_files_are_not_folded() -> None:
    screen = Screen(LIMIT, folds=False)
    screen.add(b"a\rb\x1b[1mc")
    assert screen.ended().raw == b"a\rb\x1b[1mc"
    assert not screen.is_folded
