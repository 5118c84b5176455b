"""What a terminal sends and is told."""

import asyncio
import signal
from threading import Lock

import pytest

from prunecli.tui import terminal
from prunecli.tui.terminal import TerminalDriver


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


@pytest.mark.parametrize("text", ["a\x07\x1b]52;c;x\x07", "a\x9c\x1b\\b", "two\nlines"])
def test_titles_and_notifications_carry_no_sequence_of_others(text: str) -> None:
    """Session titles and directories."""
    for told in (terminal.title(text), terminal.notification(text)):
        inside = told.strip("\x07").removeprefix("\x1b]0;").removeprefix("\x1b]9;")
        assert inside.isprintable()
