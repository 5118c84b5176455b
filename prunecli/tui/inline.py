"""`--inline`: draw below the shell's prompt and leave the conversation in the scrollback on exit."""

import asyncio
import re
import sys
from collections.abc import Iterator
from time import monotonic

from textual.drivers.linux_inline_driver import LinuxInlineDriver
from textual.geometry import Offset

from prunecli.front.presentation.entry_text import entry_lines
from prunecli.front.presentation.presenter import present_all, presenter_of
from prunecli.runtime import Runtime
from prunecli.tui.terminal import CarefulDriver

MOST_ENTRIES = 2_000
"""Maximum number of entries left in the scrollback."""


SETTLED_SECONDS = 0.3
"""Seconds without a resize before a frame is drawn: tmux tells a new size up to 0.25 s after it wrapped the rows."""
_CLEAR = "\x1b[2J"
_FRAME_END = "\x1b[6n"
_MOVES = re.compile("(?:\x1b\\[\\d+[A-D])*")


class InlineDriver(CarefulDriver, LinuxInlineDriver):
    """The inline driver, with prunecli's input, support for handing the terminal to an editor, and resizing.

    Textual clears the screen after a resize, which terminals keep as a copy in the scrollback, and moves up by as
    many rows as it drew, though a narrower terminal has wrapped them to more.
    """

    _lent = False
    _cursor = Offset(0, 0)
    """The cursor's place in the frame on the screen."""
    _width = 0
    """The width of that frame; 0 if there is none."""
    _drawn = ""
    _resized_at = float("-inf")

    def write(self, data: str) -> None:
        """Write, unless the terminal is gone or handed to an editor, or a frame is for another size."""
        if data == _CLEAR:
            self._resized_at = monotonic()
            asyncio.get_running_loop().call_later(SETTLED_SECONDS, self._app.refresh)
            return
        if self._lent:
            return
        if _FRAME_END in data:
            data = self._frame(data)
        try:
            super().write(data)
        except OSError:
            return

    def _frame(self, data: str) -> str:
        """Return a frame with the way to its place, or "" if it was drawn before a resize or is there already."""
        width, height = self._get_terminal_size()
        if self._app.size.width != width or monotonic() - self._resized_at < SETTLED_SECONDS:
            return ""
        frame = data[_MOVES.match(data).end() :]  # type: ignore[union-attr]  # it matches nothing too
        if (frame, width) == (self._drawn, self._width):
            return ""
        rows, old = self._cursor.y, self._width
        if width < old and not self._ours.environ.get("XTERM_VERSION"):  # xterm cuts rows off
            rows = rows * -(-old // width) + self._cursor.x // width
        way = f"\x1b[{rows}A\r" if rows else "\r"
        if old not in (0, width):
            way += _erased(height)
        self._cursor, self._width, self._drawn = self._app._previous_cursor_position, width, frame
        return way + frame

    def stop_application_mode(self) -> None:
        """Stop, and erase the frame row by row."""
        self.write(_erased(self._get_terminal_size()[1]))
        self._cursor, self._width = Offset(0, 0), 0
        super().stop_application_mode()

    @property
    def can_suspend(self) -> bool:
        return True

    def suspend_application_mode(self) -> None:
        self.write(f"\r\x1b[{self._app._previous_cursor_position.y + 1}A\n\x1b[J")
        self.stop_application_mode()
        self._lent = True

    def resume_application_mode(self) -> None:
        """Take the terminal back and draw from the current cursor position."""
        self._lent = False
        self._app._previous_cursor_position = Offset(0, 0)
        self.start_application_mode()


def _erased(rows: int) -> str:
    """Return the sequence that erases all rows from the cursor on; erased at once, they would go to the
    scrollback."""
    return "\x1b7" + "\x1b[2K\x1b[B" * rows + "\x1b8"


def leave_behind(runtime: Runtime, since: int, *, conversation: bool) -> None:
    """Print how to continue a session that has prompts.

    With `conversation`, first print the conversation from record `since` on, so that it stays in the scrollback.
    """
    lines = list(conversation_lines(runtime, since)) if conversation else []
    if runtime.session.path and runtime.session.context.turns:
        lines += ["", f"Continue this session with: prunecli --resume {runtime.session.id}"][not lines :]
    if lines:
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


def conversation_lines(runtime: Runtime, since: int) -> Iterator[str]:
    entries = present_all(presenter_of(runtime, None), runtime.session.records[since:])
    if len(entries) > MOST_ENTRIES:
        yield f"({len(entries) - MOST_ENTRIES} earlier entries not shown)"
    for entry in entries[-MOST_ENTRIES:]:
        lines = entry_lines(entry, afterwards=True)
        if lines and not lines[0].startswith("["):
            yield ""
        yield from lines
