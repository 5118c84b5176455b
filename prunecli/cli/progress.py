"""A progress line for slow subcommands: the current work, its duration, and how to stop it."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

FIRST_SECONDS = 1.0
"""Seconds before progress is shown."""
STEP_SECONDS = 0.5


def columns_of(out: TextIO) -> int | None:
    """Return the width of a terminal; None for anything else."""
    try:
        return os.get_terminal_size(out.fileno()).columns or None
    except (OSError, ValueError):
        return None


@contextmanager
def working(
    words: str | Callable[[], str],
    out: TextIO | None = None,
    first: float = FIRST_SECONDS,
    columns: Callable[[TextIO], int | None] = columns_of,
) -> Iterator[None]:
    """Show a progress line on standard error (or `out`) after `first` seconds if it is a terminal.

    The line is cleared at the end. It uses no escape sequences, so it works on a dumb terminal. It is cut to the
    width of the terminal, because a line that wraps can't be overwritten. `words` may change while it is shown.
    """
    out = out or sys.stderr
    if not out.isatty():
        yield
        return
    over, begun = threading.Event(), monotonic()

    def tell() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # leave them to the main thread
        line, wait = "", first
        while not over.wait(wait):
            now = words if isinstance(words, str) else words()
            room = (columns(out) or 0) - 1
            line = f"{now} ... {monotonic() - begun:.0f} s, Ctrl+C to stop".ljust(len(line))
            line = line[:room] if room > 0 else line
            wait = STEP_SECONDS
            out.write(f"\r{line}")
            out.flush()
        out.write(f"\r{' ' * len(line)}\r" if line else "")
        out.flush()

    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    try:
        yield
    finally:
        over.set()
        telling.join()
