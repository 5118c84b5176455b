"""The terminal driver: fixes to Textual's driver, and sequences that do not draw.

The fixes: A large paste is read at once instead of character by character (5 MB took 8 s). Invalid UTF-8 does not end
the program, but a lost terminal does. Nothing waits for a writer thread that has died. After kill -STOP, a resumed
process does not read its keys with two threads. A stop or a resume that interrupts a write waits for its end. Esc and
a letter pressed right after it are two keys.
"""

import asyncio
import io
import os
import select
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from enum import StrEnum
from threading import Event
from typing import TYPE_CHECKING, Any

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from prunecli.sanitize import one_line
from prunecli.tui.first_keys import FirstKeys
from prunecli.tui.terminal_environment import letters_for

PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"
_BEGINNINGS = tuple(PASTE_START[:end] for end in range(len(PASTE_START) - 1, 0, -1))
_INTRODUCERS = "[O]_^"
"""Characters that begin a longer sequence after Esc."""
REST_SECONDS, HELD_SECONDS = 0.1, 0.01
"""Seconds to wait for keys at a time, and for the rest of a possible paste."""


class MoreKeys(StrEnum):
    """Keys missing from Textual's table: without the Kitty protocol, Alt+Enter is Escape and a carriage return."""

    ALT_ENTER = "alt+enter"


ANSI_SEQUENCES_KEYS.setdefault("\x1b\r", (MoreKeys.ALT_ENTER,))  # type: ignore[attr-defined]  # a dict


class PasteReader:
    """A parser that extracts bracketed pastes from terminal input. Yields (text, whether it was pasted), in order."""

    def __init__(self) -> None:
        self._pasted: list[str] | None = None
        self._held = ""

    def feed(self, text: str) -> Iterator[tuple[str, bool]]:
        """Feed more input. A paste is returned once it has ended."""
        text, self._held = self._held + text, ""
        while text:
            if self._pasted is None:
                keys, start, text = text.partition(PASTE_START)
                if start:
                    self._pasted = []
                else:
                    self._held = next((held for held in _BEGINNINGS if keys.endswith(held)), "")
                    keys = keys[: len(keys) - len(self._held)]
                if keys:
                    yield keys, False
            else:
                pasted, end, text = text.partition(PASTE_END)
                if not end:
                    keep = len(pasted) - (len(PASTE_END) - 1)
                    self._held = pasted[max(0, keep) :]
                    self._pasted.append(pasted[: max(0, keep)])
                    return
                whole = "".join([*self._pasted, pasted])
                self._pasted = None
                yield whole, True

    @property
    def waits(self) -> bool:
        """Whether the last input may be the beginning of a paste."""
        return self._pasted is None and bool(self._held)

    def flush(self) -> str:
        """Return held-back input that turned out not to be a paste."""
        if self._pasted is not None:
            return ""
        held, self._held = self._held, ""
        return held


class KeyParser(XTermParser):
    """A parser that reads Esc and a character pressed within the time of an escape sequence.

    Terminals send the same bytes for Alt and that character, and tmux joins both keys if they are less than half a
    second apart. So these are two keys, unless Alt and the character is bound. Textual drops Esc, or types a
    circumflex for it if more keys follow at once.
    """

    def __init__(self, is_bound: Callable[[str], object], *, debug: bool = False) -> None:
        super().__init__(debug)
        self._is_bound = is_bound

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterator[events.Key]:
        last = sequence[-1:]
        if sequence == "\x1b":  # in a sequence that nothing understands
            return
        is_pair = len(sequence) == 2 and sequence[0] == "\x1b" and last not in _INTRODUCERS
        if last.isprintable() and (last not in _INTRODUCERS if alt else is_pair):
            found = list(super()._sequence_to_key_events(sequence))
            yield from found if found and not alt else self._after_escape(last)
        else:
            yield from super()._sequence_to_key_events(sequence, alt)

    def _after_escape(self, char: str) -> Iterator[events.Key]:
        for key in super()._sequence_to_key_events(char, True):
            name = key.key if key.key.startswith("alt+") else f"alt+{key.key}"
            if self._is_bound(name):
                yield events.Key(name, None)
            else:
                yield events.Key("escape", "\x1b")
                yield from super()._sequence_to_key_events(char)


class CarefulDriver(Driver):
    """Keyboard, paste and mouse handling shared by both drivers. The module docstring lists the fixes."""

    fileno: int
    exit_event: Event
    attrs_before: list[Any] | None
    if TYPE_CHECKING:  # every driver has these

        def _enable_mouse_support(self) -> None: ...

        def _disable_mouse_support(self) -> None: ...

    def __init__(self, app: Any, **more: Any) -> None:
        super().__init__(app, **more)
        self._file = sys.__stdout__  # standard output is a terminal; standard error may be a file
        if isinstance(self._file, io.TextIOWrapper):  # PYTHONIOENCODING does not apply to a terminal
            self._file.reconfigure(encoding="utf-8", errors="replace")
        self._letters = letters_for(app.environ)
        self._ours = app
        self._first: FirstKeys = app.first_keys

    def start_application_mode(self) -> None:
        """Start. Stopping restores the terminal to its state before early keys were captured."""
        super().start_application_mode()  # type: ignore[safe-super]
        if self._first.attributes is not None:
            self.attrs_before, self._first = self._first.attributes, self._first._replace(attributes=None)

    def write(self, data: str) -> None:
        """Write data, converted to the terminal's character set."""
        super().write(data if self._letters is None else self._letters(data))  # type: ignore[safe-super]

    def run_input_thread(self) -> None:
        """Read keys and pastes until the program ends or the terminal is lost."""
        parser = KeyParser(lambda key: self._ours.frame.keys.action(key), debug=self._debug)
        reader = PasteReader()
        decode = getincrementaldecoder("utf-8")("replace").decode
        while not self.exit_event.is_set():
            data = self._read(HELD_SECONDS if reader.waits else REST_SECONDS)
            if data is None:
                self._ours.call_later(self._ours.action_hang_up)
                return
            for text, pasted in reader.feed(decode(data)) if data else [(reader.flush(), False)]:
                if pasted:
                    self.process_message(events.Paste(text.replace("\x00", "")))
                elif text:
                    for event in parser.feed(text):
                        self.process_message(event)
            for event in parser.tick():
                self.process_message(event)

    def _read(self, wait: float) -> bytes | None:
        """Return input that arrives within `wait` seconds, early keys first; None once the terminal is gone."""
        first: bytes = self._first.typed
        self._first = self._first._replace(typed=b"")
        if first:
            return first
        try:
            ready, _, _ = select.select([self.fileno], [], [], wait)
            return (os.read(self.fileno, 65536) or None) if ready else b""
        except (OSError, ValueError):
            return None

    @property
    def has_unread(self) -> bool:
        """Whether keys were pressed that have not been read, as happens on a busy machine."""
        try:
            return bool(select.select([self.fileno], [], [], 0)[0])
        except (OSError, ValueError):
            return False

    def set_mouse(self, on: bool) -> None:
        """Turn mouse reporting on or off."""
        if on != self._mouse:
            self._mouse = True
            (self._enable_mouse_support if on else self._disable_mouse_support)()
            self._mouse = on

    @property
    def is_gone(self) -> bool:
        """Whether the terminal is gone."""
        try:
            os.ttyname(self.fileno)
        except OSError:
            return True
        return False


class TerminalDriver(CarefulDriver, LinuxDriver):
    """The full-screen driver."""

    def write(self, data: str) -> None:
        """Write, unless the terminal is gone or handed to an editor."""
        if self._writer_thread is not None and self._writer_thread.is_alive():
            super().write(data)

    def _sigtstp_application(self, *_: Any) -> None:
        _after_signal(super()._sigtstp_application)

    def _sigcont_application(self, *_: Any) -> None:
        _after_signal(self._resumed)

    def _resumed(self) -> None:
        """Resume after a stop. If the stop came without notice, the driver is still running, so end it first."""
        if self._auto_restart and not self._must_signal_resume:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()


def _after_signal(act: Callable[[], None]) -> None:
    """Act from the event loop, not from the signal's handler.

    The signal may have interrupted a write to the terminal, which holds the lock of the writer's queue. Another write
    would then wait forever. The kernel sends SIGCONT also when the terminal is closed.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        act()
    else:
        loop.call_soon_threadsafe(act)


def title(text: str) -> str:
    """Return the sequence that sets the window title."""
    return f"\x1b]0;{one_line(text)}\x07"


KEEP_TITLE, RESTORE_TITLE = "\x1b[22;0t", "\x1b[23;0t"
"""Save the window title on the terminal's stack, and restore it from there."""


def notification(text: str) -> str:
    """Return the sequence for a desktop notification (OSC 9), with a bell for terminals without notifications."""
    return f"\x1b]9;{one_line(text)}\x07\x07"
