"""Reads lines from the terminal, with history where readline is available, and no escape sequences.

An answer is accepted only if it was typed after its question appeared, so text typed ahead cannot approve anything.
"""

import getpass
import os
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, Protocol

EARLY_SECONDS = 0.3
"""A line that arrives this soon after a question was not meant as its answer."""
_PASTE_SECONDS = 0.05


def columns() -> int:
    """Return the width of the terminal on standard output, 0 if there is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0


class Lines(Protocol):
    def read(self, prompt: str) -> str | None:
        """Read the next prompt, which may have several lines. Returns None at the end of input.

        Raises KeyboardInterrupt.
        """

    def answer(self, prompt: str) -> str | None:
        """Read the answer to the question just printed. Raises KeyboardInterrupt."""

    def secret(self, prompt: str) -> str | None:
        """Read a line without echo."""


class TerminalLines:
    """Lines from standard input. Tab completes `words`; `history` is oldest first."""

    def __init__(self, history: Sequence[str], words: Sequence[str]) -> None:
        self._words = sorted(words)
        self._readline = _dumb_readline()
        if self._readline:
            for entry in history:
                if "\n" not in entry and entry.isprintable():
                    self._readline.add_history(entry)
            self._readline.set_completer_delims(" ")
            self._readline.set_completer(self._complete)
            self._readline.parse_and_bind("tab: complete")

    def read(self, prompt: str) -> str | None:
        """See `Lines.read`. A trailing backslash or a multi-line paste continues the prompt."""
        lines: list[str] = []
        try:
            lines.append(input(prompt))
            while lines[-1].endswith("\\") or _waits():
                lines[-1] = lines[-1].removesuffix("\\")
                lines.append(input(""))
        except EOFError:
            return "\n".join(lines) if lines else None
        return "\n".join(lines)

    def answer(self, prompt: str) -> str | None:
        """See `Lines.answer`. Drops lines typed before or right after the question; adds nothing to the history."""
        self._remember(False)
        try:
            return self._answer(prompt)
        finally:
            self._remember(True)

    def _remember(self, wanted: bool) -> None:
        if self._readline:
            self._readline.set_auto_history(wanted)

    def _answer(self, prompt: str) -> str | None:
        while True:
            _forget_typed()
            asked_at = monotonic()
            try:
                line = input(prompt)
            except EOFError:
                return None
            if monotonic() - asked_at > EARLY_SECONDS:
                return line
            sys.stdout.write("Ignored: typed before the question appeared. Please answer again.\n")

    def secret(self, prompt: str) -> str | None:
        try:
            return getpass.getpass(prompt)
        except EOFError:
            return None

    def _complete(self, text: str, state: int) -> str | None:
        found = [word for word in self._words if word.startswith(text)] if text else []
        return found[state] if state < len(found) else None


def _dumb_readline() -> Any:
    """Import readline in a way that sends no escape sequences, and return it; None if it is not available.

    readline reads TERM at first use, so TERM is "dumb" meanwhile. Editing and history work with backspaces alone.
    """
    before = os.environ.get("TERM")
    os.environ["TERM"] = "dumb"
    try:
        import readline

        readline.parse_and_bind("set enable-bracketed-paste off")
        readline.parse_and_bind("set bell-style none")
        readline.set_auto_history(True)
    except ImportError:
        return None
    finally:
        if before is None:
            del os.environ["TERM"]
        else:
            os.environ["TERM"] = before
    return readline


def _waits() -> bool:
    """Return whether another whole line is already waiting, which belongs to the same paste."""
    try:
        return bool(select.select([sys.stdin], [], [], _PASTE_SECONDS)[0]) and sys.stdin.isatty()
    except (OSError, ValueError):
        return False


def _forget_typed() -> None:
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (OSError, ValueError, termios.error):
        return  # not a terminal, so there is no typed-ahead input


@contextmanager
def interruptible() -> Iterator[None]:
    """Make Ctrl+C raise KeyboardInterrupt inside, even if an event loop handles it otherwise."""
    before: Callable[..., object] | int | None = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
