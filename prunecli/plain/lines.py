"""Lines from the terminal: with history where readline is there, and never an escape sequence.

An answer to a question is only what was typed after it stood there (SEC-16).
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
"""A line that comes as soon after a question was not meant for it."""
_PASTE_SECONDS = 0.05


class Lines(Protocol):
    """Where lines come from."""

    def read(self, prompt: str) -> str | None:
        """The next prompt of the user, which may have several lines; None at the end of input.

        Raises KeyboardInterrupt.
        """
        ...

    def answer(self, prompt: str) -> str | None:
        """The answer to a question that was just printed. Raises KeyboardInterrupt."""
        ...

    def secret(self, prompt: str) -> str | None:
        """A line that is not shown."""
        ...


class TerminalLines:
    """Lines of standard input. `words` are completed with Tab, `history` is oldest first."""

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
        """See `Lines.read`. A line that ends in a backslash goes on; so does a paste of several."""
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
        """See `Lines.answer`: what was typed before is thrown away, and so is what comes at once. It is no prompt,
        so the history does not get it."""
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
            sys.stdout.write("That was typed before the question was there; please answer again.\n")

    def secret(self, prompt: str) -> str | None:
        """See `Lines.secret`."""
        try:
            return getpass.getpass(prompt)
        except EOFError:
            return None

    def _complete(self, text: str, state: int) -> str | None:
        found = [word for word in self._words if word.startswith(text)] if text else []
        return found[state] if state < len(found) else None


def _dumb_readline() -> Any:
    """readline that believes in a terminal without any capability; None where there is none.

    It reads TERM when it is first used. Editing and history work with backspaces alone.
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
    """Whether another whole line is there already: it belongs to the same paste."""
    try:
        return bool(select.select([sys.stdin], [], [], _PASTE_SECONDS)[0]) and sys.stdin.isatty()
    except (OSError, ValueError):
        return False


def _forget_typed() -> None:
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (OSError, ValueError, termios.error):
        return  # no terminal: nothing is typed ahead of it


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl+C raises KeyboardInterrupt inside, also while an event loop has taken it."""
    before: Callable[..., object] | int | None = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
