"""What a terminal sends and is told."""

import asyncio
import signal
from itertools import pairwise
from threading import Lock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from prunecli.tui import terminal
from prunecli.tui.terminal import PASTE_END, PASTE_START, KeyParser, PasteReader, TerminalDriver


def read(*chunks: str) -> list[tuple[str, bool]]:
    """What is read, with neighbors of a kind joined: where keys are cut does not matter."""
    reader, found = PasteReader(), list[tuple[str, bool]]()
    pieces = [piece for chunk in chunks for piece in reader.feed(chunk)]
    for text, pasted in [*pieces, (reader.flush(), False)]:
        if found and text and not pasted and not found[-1][1]:
            found[-1] = found[-1][0] + text, False
        elif text or pasted:
            found.append((text, pasted))
    return found


class Writing(TerminalDriver):
    """A driver without a terminal. Stopping and resuming need the lock that a write holds."""

    def __init__(self) -> None:
        self._auto_restart = self._must_signal_resume = True
        self.lock = Lock()
        self.done: list[str] = []

    def resume_application_mode(self) -> None:
        self.done.append("resumed" if self.lock.acquire(blocking=False) else "stuck")


async def test_a_resume_that_interrupts_a_write_waits_until_it_is_done() -> None:
    driver = Writing()
    before = signal.signal(signal.SIGCONT, lambda *_: driver._sigcont_application())
    try:
        with driver.lock:
            signal.raise_signal(signal.SIGCONT)
            assert driver.done == []
        await asyncio.sleep(0)
    finally:
        signal.signal(signal.SIGCONT, before)
    assert driver.done == ["resumed"]


def test_a_paste_is_told_from_what_is_typed_around_it() -> None:
    assert read(f"ab{PASTE_START}one\rtwo{PASTE_END}c") == [("ab", False), ("one\rtwo", True), ("c", False)]


@given(st.text(alphabet="ab\r\x1b[20~", max_size=30), st.lists(st.integers(0, 60), max_size=6))
def test_it_does_not_matter_how_a_paste_is_cut_into_pieces(text: str, cuts: list[int]) -> None:
    pasted = text.replace(PASTE_END, "")
    if PASTE_END in pasted + PASTE_END[:-1]:
        return
    whole = f"x{PASTE_START}{pasted}{PASTE_END}y"
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    chunks = [whole[a:b] for a, b in pairwise(places)]
    assert read(*chunks) == read(whole)


def test_the_beginning_of_a_paste_that_comes_late_is_waited_for_and_a_key_is_not_swallowed() -> None:
    assert read("a\x1b[20", f"0~b{PASTE_END}") == [("a", False), ("b", True)]
    assert read("\x1b[20", "~") == [("\x1b[20~", False)]
    assert read("\x1b[2") == [("\x1b[2", False)]


def test_five_megabytes_are_one_paste() -> None:
    text = "hello world line of text\r" * 200_000
    chunks = [text[at : at + 65_536] for at in range(0, len(text), 65_536)]
    assert read(PASTE_START, *chunks, PASTE_END) == [(text, True)]


def test_what_follows_an_end_inside_a_paste_is_typed_not_pasted() -> None:
    """ESC[201~ inside a paste ends it; the editor takes no Enter that comes so close behind."""
    assert read(f"{PASTE_START}evil{PASTE_END}\rrm{PASTE_END}") == [
        ("evil", True),
        (f"\rrm{PASTE_END}", False),
    ]


@pytest.mark.parametrize(
    ("sequence", "key"),
    [("\x1b\r", "alt+enter"), ("\x1b[13;2u", "shift+enter"), ("\x1b[13;3u", "alt+enter"), ("\n", "ctrl+j")],
)
def test_the_keys_of_a_new_line_are_known_with_and_without_the_kitty_protocol(
    sequence: str, key: str
) -> None:
    found = [event.key for event in XTermParser().feed(sequence) if isinstance(event, events.Key)]
    assert found == [key]


@pytest.mark.parametrize(
    ("sequence", "keys"),
    [
        ("\x1bd", ["escape", "d"]),
        ("\x1bdo it, and then go on with the rest of the list", ["escape", "d", "o", "space", "i"]),
        ("\x1bdo\x1b[A", ["escape", "d", "o", "up"]),
        ("\x1bPlease", ["escape", "P", "l", "e", "a"]),
        ("\x1b/help", ["escape", "slash", "h", "e", "l"]),
        ("\x1b\x1bx", ["escape", "escape", "x"]),
        ("\x1bt", ["alt+t"]),
        ("\x1b;", ["alt+semicolon"]),
        ("\x1bb\x1b\x7f", ["ctrl+left", "ctrl+w"]),
        ("\x1bOA\x1b[1;3A\x1b\r", ["up", "alt+up", "alt+enter"]),
    ],
)
def test_esc_and_a_letter_right_after_it_are_two_keys_unless_alt_is_bound(
    sequence: str, keys: list[str]
) -> None:
    parser = KeyParser({"alt+t", "alt+semicolon"}.__contains__)
    found = [event for event in parser.feed(sequence) if isinstance(event, events.Key)]
    assert [event.key for event in found][: len(keys)] == keys
    typed = "".join(event.character or "" for event in found if event.is_printable)
    assert "^" not in typed
    assert len(keys) < 5 or typed == sequence[1:]


@pytest.mark.parametrize("text", ["a\x07\x1b]52;c;x\x07", "a\x9c\x1b\\b", "two\nlines"])
def test_titles_and_notifications_carry_no_sequence_of_others(text: str) -> None:
    """Session titles and directories."""
    for told in (terminal.title(text), terminal.notification(text)):
        inside = told.strip("\x07").removeprefix("\x1b]0;").removeprefix("\x1b]9;")
        assert inside.isprintable()
