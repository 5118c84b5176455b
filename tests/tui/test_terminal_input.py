"""What comes from a terminal, whoever sent it: keys, pastes, reports and rubbish."""

import os
import random
from collections.abc import Iterable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.message import Message

from prunecli.tui.terminal_input import PASTE_END, PASTE_START, Burst, TerminalInput

BOUND = {"alt+t", "alt+semicolon"}
FULL = int(os.environ.get("PRUNECLI_KEY_SEQUENCES", "100000"))


def read(*pieces: str, pause: float = 0.001, early: bool = False) -> list[Message]:
    """The events of these pieces, so many seconds one after the other, and of the pause at their end."""
    keys, found, at = TerminalInput(BOUND.__contains__), list[Message](), 0.0
    for piece in pieces:
        at += pause
        found += keys.read(piece, at, early=early)
    return [*found, *keys.read("", at + 1), *keys.read("", at + 2)]


def told(found: Iterable[Message]) -> list[str]:
    """A key by its name, a paste in quotes, a burst in brackets, anything else by its kind."""

    def names() -> Iterator[str]:
        for event in found:
            match event:
                case events.Key(key=key):
                    yield key
                case Burst(text=text):
                    yield f"[{text}]"
                case events.Paste(text=text):
                    yield f"'{text}'"
                case _:
                    yield type(event).__name__

    return list(names())


def typed(found: Iterable[Message]) -> str:
    return "".join(event.character or "" for event in found if isinstance(event, events.Key))


# Keys -----------------------------------------------------------------------------------------------------------

KEYS = {
    # with and without the Kitty protocol
    "\x1b\r": ["alt+enter"],
    "\x1b[13;3u": ["alt+enter"],
    "\x1b[13;2u": ["shift+enter"],
    "\x1b[97;;97u\x1b\r": ["a", "shift+enter"],
    "\x1b[27;2;13~": ["shift+enter"],
    "\x1b[13;2:1u": ["shift+enter"],
    "\x1b[57414;2u": ["shift+enter"],
    "\x1bOM": ["shift+enter"],
    "\n": ["ctrl+j"],
    "\\\r\n": ["backslash", "enter"],  # older setups for Shift+Enter
    "\x1bOA\x1b[1;3A\x1b[A": ["up", "alt+up", "up"],
    "\x1bOP\x1b[[A\x1b[11~": ["f1", "f1", "f1"],
    "\x1b[3$": ["shift+delete"],
    # sub-parameters: other keys, kinds of event, text
    "\x1b[97:65;2u": ["shift+a"],
    "\x1b[97:65;2;65u": ["A"],
    "\x1b[97;1:1;97u": ["a"],
    "\x1b[97;1:2;97u": ["a"],
    "\x1b[97;1:3u": [],
    "\x1b[1;1:3A": [],
    "\x1b[15;1:1~": ["f5"],
    "\x1b[97;;229:230u": ["å", "æ"],
    # Ctrl and Alt on other layouts, with and without the key itself
    "\x1b[1089;5u": ["ctrl+c"],
    "\x1b[1089::99;5u": ["ctrl+c"],
    "\x1b[27;5;1089~": ["ctrl+c"],
    "\x1b[968;5u": ["ctrl+c"],
    "\x1b[1495::104;5u": ["ctrl+h"],
    "\x1b[97::113;5u": ["ctrl+a"],
    "\x1b[1089:1057:99;6u": ["ctrl+shift+c"],
    "\x1b[1076::108;5u": ["ctrl+l"],
    "\x1b[1077;3u": ["alt+t"],
    "\x1bе": ["alt+t"],
    "\x1b[1089;1;1089u": ["с"],
    # what no key sends
    "\x1b[1114112u": [],
    "\x1b[55296u": [],
    "\x1b[27;5;1114112~": [],
    "\x1b[:;:u": [],
    "\x1b[99~": [],
    f"\x1b[{'9' * 5000}u": [],
    "\x1b[<0;-5;-5M": [],
    "\x1b[48;0;0;0;0t": [],
    "\x1b[48;99999;99999;1;1t": [],
}


@pytest.mark.parametrize("sequence", KEYS)
def test_a_key_is_known_however_a_terminal_reports_it(sequence: str) -> None:
    assert told(read(sequence)) == KEYS[sequence]
    assert told(read(*sequence)) == KEYS[sequence], "one character at a time"


REPLIES = (
    "\x1b]11;rgb:213d/2743/33e7\x1b\\",
    "\x1b]11;rgb:213d/2743/33e7\x07",
    "\x1b]lthe title\x1b\\",
    "\x1b[?62;22c",
    "\x1b[>1;95;0c",
    "\x1b[?1u",
    "\x1b[0n",
    "\x1b[8;24;80t",
    "\x1b[?2031;0$y",
    "\x1bP>|WezTerm 20240203\x1b\\",
    "\x1bP1$r0m\x1b\\",
    "\x1bP1+r544e=787465726d\x1b\\",
    "\x1bP!|00000000\x1b\\",
    "\x1b_Gi=31;OK\x1b\\",
    "\x1b^a private message\x1b\\",
    "\x1bXa string\x1b\\",
)


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_of_the_terminal_is_not_typed(reply: str) -> None:
    assert told(read("a", reply, "b")) == ["a", "b"]
    for cut in range(3, len(reply)) if reply[1] not in "^X" else ():  # nobody answers with these
        assert told(read("a", reply[:cut], reply[cut:], "b")) == ["a", "b"], cut


def test_a_reply_without_an_end_swallows_no_key_that_acts() -> None:
    assert told(read("\x1b]11;rgb:2", "\r")) == ["enter"]
    assert told(read("\x1b]11;rgb:2", "\x03")) == ["ctrl+c"]
    assert told(read("\x1b]11;rgb:2", "ok", pause=0.6)) == []
    assert told(read("\x1b]11;rgb:2", "", "ok", pause=0.6)) == ["o", "k"]


@pytest.mark.parametrize(
    ("sequence", "keys"),
    [
        ("\x1b", ["escape"]),
        ("\x1bd", ["escape", "d"]),
        ("\x1bdo\x1b[A", ["escape", "d", "o", "up"]),
        ("\x1bPlease", ["escape", *"Please"]),
        ("\x1bOK", ["escape", *"OK"]),
        ("\x1b[", ["escape", "left_square_bracket"]),
        ("\x1b/help", ["escape", "slash", *"help"]),
        ("\x1b\x1bx", ["escape", "escape", "x"]),
        ("\x1bt", ["alt+t"]),
        ("\x1b;", ["alt+semicolon"]),
        ("\x1bb\x1b\x7f", ["ctrl+left", "ctrl+w"]),
    ],
)
def test_esc_and_a_letter_right_after_it_are_two_keys_unless_alt_is_bound(
    sequence: str, keys: list[str]
) -> None:
    assert told(read(sequence)) == keys


def test_esc_and_a_long_text_at_once_lose_nothing() -> None:
    found = read("\x1bdo it, and then go on with the rest of the list")
    assert told(found) == ["escape", "d", "[o it, and then go on with the rest of the list]"]


# Bursts ---------------------------------------------------------------------------------------------------------

BURSTS = [
    (["hello\r"], [*"hello", "enter"]),
    (["hello", "\r"], [*"hello", "enter"]),
    (["one\rtwo\r\rthree"], ["[one\rtwo\r\rthree]"]),
    (["one\rtwo\r"], ["[one\rtwo\r]"]),
    (["one", "\r", "two"], [*"one", "[\rtwo]"]),
    (list("one\rtwo"), [*"one", "[\rtwo]"]),
    (["a line of twenty char\r"], ["[a line of twenty char]", "enter"]),
]


@pytest.mark.parametrize(("pieces", "expected"), BURSTS)
def test_lines_that_come_at_once_are_one_text_and_a_word_with_enter_is_sent(
    pieces: list[str], expected: list[str]
) -> None:
    assert told(read(*pieces)) == expected


def test_what_somebody_types_is_sent_line_by_line() -> None:
    assert told(read("one", "\r", "two", "\r", pause=0.05)) == [*"one", "enter", *"two", "enter"]


def test_what_was_typed_before_the_interface_could_read_it_is_taken_as_typed() -> None:
    assert told(read("one\rtwo", early=True)) == [*"one", "enter", *"two"]


def test_tab_in_a_short_line_completes() -> None:
    assert told(read("see @parser\t"))[-1] == "tab"
    assert told(read("see the file @src/parser\t"))[-1] == "tab"


def test_a_burst_ends_with_the_first_key_that_is_no_text() -> None:
    assert told(read("one\r\x1b[A")) == [*"one", "enter", "up"]


# Pastes ---------------------------------------------------------------------------------------------------------


def test_a_paste_is_told_from_what_is_typed_around_it() -> None:
    assert told(read(f"ab{PASTE_START}one\rtwo{PASTE_END}c")) == ["a", "b", "'one\rtwo'", "c"]


@given(st.text(alphabet="ab\r\x1b[20~", max_size=30), st.lists(st.integers(0, 60), max_size=6))
def test_it_does_not_matter_how_a_paste_is_cut_into_pieces(text: str, cuts: list[int]) -> None:
    pasted = text.replace(PASTE_END, "")
    if PASTE_END in pasted + PASTE_END[:-1]:
        return
    whole = f"x{PASTE_START}{pasted}{PASTE_END}y"
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    assert told(read(*(whole[a:b] for a, b in pairwise(places)))) == told(read(whole))


def test_five_megabytes_are_one_paste() -> None:
    text = "hello world line of text\r" * 200_000
    chunks = [text[at : at + 65_536] for at in range(0, len(text), 65_536)]
    (paste,) = read(PASTE_START, *chunks, PASTE_END)
    assert isinstance(paste, events.Paste)
    assert paste.text == text


def test_what_follows_an_end_inside_a_paste_is_typed_not_pasted() -> None:
    """ESC[201~ inside a paste ends it; the editor takes no Enter that comes so close behind."""
    assert told(read(f"{PASTE_START}evil{PASTE_END}\rrm{PASTE_END}")) == ["'evil'", "enter", "r", "m"]


@pytest.mark.parametrize(
    "inside",
    [
        "\x1b[31mred\x1b[0m",
        "\x1b]0;t\x07red",
        "\x1b]8;;x\x1b\\red",
        "\x1bPq\x1b\\red",
        "r\x1bced",
        "\x9b1mred",
    ],
)
def test_escape_sequences_in_a_paste_do_not_reach_the_prompt(inside: str) -> None:
    assert told(read(f"{PASTE_START}{inside}\tx{PASTE_END}")) == ["'red\tx'"]


# Anything -------------------------------------------------------------------------------------------------------

PARTS = (
    *(
        "\x1b",
        "\x1b[",
        "\x1bO",
        "\x1b]",
        "\x1bP",
        "\x1b_",
        "\x1b\\",
        "\x07",
        "\r",
        "\n",
        "\t",
        "\x7f",
        "\x00",
    ),
    *(
        "[",
        "<",
        ">",
        "?",
        "=",
        ";",
        ":",
        "$",
        " ",
        "-",
        "u",
        "~",
        "A",
        "R",
        "t",
        "M",
        "m",
        "c",
        "y",
        "O",
        "I",
    ),
    *("0", "1", "3", "5", "13", "27", "48", "97", "200", "201", "1089", "2048", "2026", "55296", "1114112"),
    *(
        "9" * 30,
        "é",
        "ж",
        "\u0915\u093e",
        "👨\u200d👩",
        "\x9b",
        "\x9c",
        "\ud800",
        "\ufffd",
        PASTE_START,
        PASTE_END,
    ),
    *KEYS,
    *REPLIES,
)


@pytest.mark.parametrize(("count", "seed"), [(2_000, 39), pytest.param(FULL, 1, marks=pytest.mark.long)])
def test_no_sequence_raises_or_takes_the_keyboard_away(count: int, seed: int) -> None:
    """One parser reads so many random sequences, and a letter after each."""
    chance = random.Random(seed)
    keys, at = TerminalInput(BOUND.__contains__), 0.0
    for _ in range(count):
        sequence = "".join(chance.choices(PARTS, k=chance.randrange(1, 9)))
        cut = chance.randrange(len(sequence) + 1)
        for piece in (sequence[:cut], sequence[cut:], PASTE_END, "", ""):
            at += chance.choice((0.001, 0.6))
            for event in keys.read(piece, at):
                if isinstance(event, Burst):
                    assert list(event.as_keys())
                if isinstance(event, events.Resize):
                    assert 0 < event.size.width <= 5_000
        assert told(keys.read("x", at + 1)) == ["x"], repr(sequence)
