"""`--inline`: the interface below the shell's prompt, and the conversation left in the scrollback at the end."""

import sys
from collections.abc import Iterator

from textual.drivers.linux_inline_driver import LinuxInlineDriver
from textual.geometry import Offset

from prunecli.plain.words import entry_lines
from prunecli.runtime import Runtime
from prunecli.runtime.toolbox import summaries
from prunecli.tui.showing.present import Presenter, present_all
from prunecli.tui.terminal import CarefulDriver

MOST_ENTRIES = 2_000
"""Entries that are left behind; earlier ones are in the session."""


class InlineDriver(CarefulDriver, LinuxInlineDriver):
    """The driver below the prompt: with our care for pastes, and able to lend the terminal to an editor."""

    _lent = False

    def write(self, data: str) -> None:
        """Writes; says nothing to a terminal that is gone, or that is lent to an editor."""
        if self._lent:
            return
        try:
            super().write(data)
        except OSError:
            return

    @property
    def can_suspend(self) -> bool:
        """It can be left for a while."""
        return True

    def suspend_application_mode(self) -> None:
        """The terminal as it was, without our rows."""
        self.write(f"\r\x1b[{self._app._previous_cursor_position.y + 1}A\n\x1b[J")
        self.stop_application_mode()
        self._lent = True

    def resume_application_mode(self) -> None:
        """Ours again: drawn from where the cursor is now."""
        self._lent = False
        self._app._previous_cursor_position = Offset(0, 0)
        self.start_application_mode()


def leave_behind(runtime: Runtime, since: int) -> None:
    """Prints what was said from record `since` on: it stays in the terminal's scrollback."""
    sys.stdout.write("\n".join(conversation(runtime, since)) + "\n")
    sys.stdout.flush()


def conversation(runtime: Runtime, since: int) -> Iterator[str]:
    """The conversation as lines, with an empty line before each prompt and answer."""
    tools = runtime.tools
    presenter = Presenter(summaries(tools, runtime.setup.cwd), lambda _: None)
    entries = present_all(presenter, runtime.session.records[since:])
    if len(entries) > MOST_ENTRIES:
        yield f"({len(entries) - MOST_ENTRIES} earlier entries are in the session)"
    for entry in entries[-MOST_ENTRIES:]:
        lines = entry_lines(entry, afterwards=True)
        if lines and not lines[0].startswith("["):
            yield ""
        yield from lines
    if runtime.session.path:
        yield ""
        yield f"prunecli --resume {runtime.session.id} continues this session."
