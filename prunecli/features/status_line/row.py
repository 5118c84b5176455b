"""The rows of the status line: the command's output, with its colors."""

import re

from rich.text import Text
from textual.content import Content
from textual.widget import Widget

from prunecli.util.sanitize import one_line

_STYLED = re.compile(r"(\x1b\[[0-9;:]{0,40}m)")
_OTHER = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|\[[0-?]*[ -/]*[@-~]|.)")
"""Other sequences, such as links: they leave their text."""


class StatusRow(Widget):
    can_focus = False

    def __init__(self) -> None:
        super().__init__()
        self._line = ""
        self.styles.height = 1

    def show(self, line: str) -> None:
        """Show these rows; "" hides the widget."""
        if line != self._line:
            self._line = line
            self.display = bool(line)
            self.styles.height = line.count("\n") + 1
            self.refresh()

    def render(self) -> Content:
        return Content("\n").join(Content.assemble(" ", styled(row)) for row in self._line.split("\n"))


def styled(line: str) -> Content:
    """Return a line with its colors and nothing else of what a terminal obeys."""
    parts = _STYLED.split(line)
    clean = (part if at % 2 else one_line(_OTHER.sub("", part)) for at, part in enumerate(parts))
    return Content.from_rich_text(Text.from_ansi("".join(clean), no_wrap=True, overflow="ellipsis"))
