"""`--inline`: draw below the shell's prompt and leave the conversation in the scrollback on exit."""

import sys
from collections.abc import Iterator

from textual.drivers.linux_inline_driver import LinuxInlineDriver
from textual.geometry import Offset

from prunecli.presentation.entry_text import entry_lines
from prunecli.presentation.presenter import Presenter, present_all
from prunecli.runtime import Runtime
from prunecli.runtime.toolbox import summaries
from prunecli.tui.terminal import CarefulDriver

MOST_ENTRIES = 2_000
"""Maximum number of entries left in the scrollback."""


class InlineDriver(CarefulDriver, LinuxInlineDriver):
    """The inline driver, with prunecli's paste handling and support for handing the terminal to an editor."""

    _lent = False

    def write(self, data: str) -> None:
        """Write, unless the terminal is gone or handed to an editor."""
        if self._lent:
            return
        try:
            super().write(data)
        except OSError:
            return

    @property
    def can_suspend(self) -> bool:
        """True: the terminal can be handed over."""
        return True

    def suspend_application_mode(self) -> None:
        """Restore the terminal and remove our rows."""
        self.write(f"\r\x1b[{self._app._previous_cursor_position.y + 1}A\n\x1b[J")
        self.stop_application_mode()
        self._lent = True

    def resume_application_mode(self) -> None:
        """Take the terminal back and draw from the current cursor position."""
        self._lent = False
        self._app._previous_cursor_position = Offset(0, 0)
        self.start_application_mode()


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
    """Yield the conversation as lines, with an empty line before each prompt and answer."""
    tools = runtime.tools
    presenter = Presenter(summaries(tools, runtime.setup.cwd), lambda _: None)
    entries = present_all(presenter, runtime.session.records[since:])
    if len(entries) > MOST_ENTRIES:
        yield f"({len(entries) - MOST_ENTRIES} earlier entries not shown)"
    for entry in entries[-MOST_ENTRIES:]:
        lines = entry_lines(entry, afterwards=True)
        if lines and not lines[0].startswith("["):
            yield ""
        yield from lines
