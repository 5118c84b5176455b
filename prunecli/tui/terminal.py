"""The terminal driver: fixes to Textual's driver, and sequences that do not draw.

The fixes: Input is read by `terminal_input`. Invalid UTF-8 does not end the program, but a lost terminal does.
Nothing waits for a writer thread that has died. After kill -STOP, a resumed process does not read its keys with two
threads. A stop or a resume that interrupts a write waits for its end. Characters stand in their column even if the
terminal gives those before them another width.
"""

import asyncio
import io
import os
import select
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import constants, events
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from prunecli.tui.first_keys import FirstKeys
from prunecli.tui.terminal_environment import letters_for
from prunecli.tui.terminal_input import PAUSE_SECONDS, TerminalInput
from prunecli.tui.widths import ASK, PROBES, placed
from prunecli.util.sanitize import one_line

REST_SECONDS = 0.1
"""Seconds to wait for keys at a time."""
REPORT_KEYS = "\x1b[=4;2u"
"""Asks a terminal with the Kitty protocol to report the key itself too, for Ctrl with other letters than Latin."""


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
        self._probed: list[int] = []

    def start_application_mode(self) -> None:
        """Start. Stopping restores the terminal to its state before early keys were captured."""
        super().start_application_mode()  # type: ignore[safe-super]
        if not constants.DISABLE_KITTY_KEY:
            self.write(REPORT_KEYS)
        if self._letters is None:
            self._probed = []
            super().write(ASK)  # type: ignore[safe-super]
        if self._first.attributes is not None:
            self.attrs_before, self._first = self._first.attributes, self._first._replace(attributes=None)

    def write(self, data: str) -> None:
        super().write(placed(data) if self._letters is None else self._letters(data))  # type: ignore[safe-super]

    def run_input_thread(self) -> None:
        """Read keys and pastes until the program ends or the terminal is lost. An error ends the program."""
        try:
            self._take_input()
        except Exception as error:  # noqa: BLE001  # reported by the application
            self._ours.call_later(self._ours._handle_exception, error)

    def _take_input(self) -> None:
        keys = TerminalInput(lambda key: self._ours.frame.keys.action(key), debug=self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        early = True
        while not self.exit_event.is_set():
            early = early and (bool(self._first.typed) or self.has_unread)
            data = self._read(PAUSE_SECONDS if keys.waits else REST_SECONDS)
            if data is None:
                self._ours.call_later(self._ours.action_hang_up)
                return
            for event in keys.read(decode(data), monotonic(), early=early):
                if isinstance(event, events.CursorPosition) and len(self._probed) < len(PROBES):
                    self._measure(event)
                else:
                    self.process_message(event)

    def _measure(self, answer: events.CursorPosition) -> None:
        self._probed.append(answer.x)
        if len(self._probed) == len(PROBES):
            self._ours.call_later(self._ours.frame.measured, tuple(self._probed))

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
        if on != self._mouse:
            self._mouse = True
            (self._enable_mouse_support if on else self._disable_mouse_support)()
            self._mouse = on

    @property
    def is_gone(self) -> bool:
        try:
            os.ttyname(self.fileno)
        except OSError:
            return True
        return False


class TerminalDriver(CarefulDriver, LinuxDriver):
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
    return f"\x1b]0;{one_line(text)}\x07"


KEEP_TITLE, RESTORE_TITLE = "\x1b[22;0t", "\x1b[23;0t"
"""Save the window title on the terminal's stack, and restore it from there."""


def notification(text: str) -> str:
    """Return the sequence for a desktop notification (OSC 9), with a bell for terminals without notifications."""
    return f"\x1b]9;{one_line(text)}\x07\x07"
