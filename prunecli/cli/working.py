"""A sign of life of a subcommand that takes its time: what it does, for how long, and how to stop it."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

FIRST_SECONDS = 1.0
"""What is done sooner says nothing."""
STEP_SECONDS = 0.5


@contextmanager
def working(words: str, out: TextIO | None = None, first: float = FIRST_SECONDS) -> Iterator[None]:
    """Says so after `first` seconds on standard error (or `out`), where that is a terminal, on one line that is
    blank again at the end. No escape sequence: it is as right on a dumb terminal."""
    out = out or sys.stderr
    if not out.isatty():
        yield
        return
    over, begun = threading.Event(), monotonic()

    def tell() -> None:
        line, wait = "", first
        while not over.wait(wait):
            line, wait = f"{words} ... {monotonic() - begun:.0f} s, Ctrl+C stops", STEP_SECONDS
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
