"""Keeps keys pressed before the interface starts reading, each once and in order.

Until the driver starts, the terminal edits lines itself: it echoes, and turns Enter into a line feed, which we read
as Ctrl+J. So the terminal is switched before anything else, and keys typed until then are read back with Enter
restored. Standard library only: every start waits for this module.
"""

import os
import select
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

_IFLAG, _LFLAG, _CC = 0, 3, 6


class FirstKeys(NamedTuple):
    """Keys typed before the switch, and the terminal's previous attributes; None if there is no terminal."""

    typed: bytes = b""
    attributes: list[Any] | None = None


@contextmanager
def kept(file: int) -> Iterator[FirstKeys]:
    """Switch a terminal so that keys wait unchanged for the driver, and restore it at the end."""
    try:
        before = termios.tcgetattr(file)
    except termios.error:
        yield FirstKeys()
        return
    _switch(file)
    try:
        yield FirstKeys(_waiting(file).replace(b"\n", b"\r"), before)
    finally:
        with suppress(termios.error):  # a terminal that is gone
            termios.tcsetattr(file, termios.TCSANOW, before)


def _switch(file: int) -> None:
    """Turn off echo, line mode and Enter translation. Signals stay on, so Ctrl+C works until the interface starts."""
    changed = termios.tcgetattr(file)
    changed[_IFLAG] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF)
    changed[_LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    changed[_CC] = [*changed[_CC]]
    changed[_CC][termios.VMIN], changed[_CC][termios.VTIME] = 1, 0
    termios.tcsetattr(file, termios.TCSANOW, changed)


def _waiting(file: int) -> bytes:
    found = b""
    while select.select([file], [], [], 0)[0] and (more := os.read(file, 65_536)):
        found += more
    return found
