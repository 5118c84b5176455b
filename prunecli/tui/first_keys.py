"""Keys pressed before the interface reads any: kept, each once and in order.

Until the driver starts, a terminal edits lines by itself: it echoes, and hands Enter on as a line feed, which is
Ctrl+J to us. So the terminal is switched first of all, and what was typed until then is read back with its Enters.
Standard library only: every start waits for this module.
"""

import os
import select
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

_IFLAG, _LFLAG, _CC = 0, 3, 6


class FirstKeys(NamedTuple):
    """What was typed before the switch, and the terminal's attributes as they were; None where it has none."""

    typed: bytes = b""
    attributes: list[Any] | None = None


@contextmanager
def kept(file: int) -> Iterator[FirstKeys]:
    """Switch a terminal so that keys wait unchanged for the driver; at the end it is as it was before."""
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
    """No echo, no lines, Enter as it is pressed. Signals stay: until the interface is there Ctrl+C ends it."""
    changed = termios.tcgetattr(file)
    changed[_IFLAG] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF)
    changed[_LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    changed[_CC] = [*changed[_CC]]
    changed[_CC][termios.VMIN], changed[_CC][termios.VTIME] = 1, 0
    termios.tcsetattr(file, termios.TCSANOW, changed)


def _waiting(file: int) -> bytes:
    """What can be read at once."""
    found = b""
    while select.select([file], [], [], 0)[0] and (more := os.read(file, 65_536)):
        found += more
    return found
