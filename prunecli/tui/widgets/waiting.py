"""The queued messages above the prompt."""

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.widget import Widget

from prunecli.tui.transcript.rows import clip
from prunecli.util.sanitize import one_line

MOST_WAITING = 4
"""Maximum rows of queued messages: steering first, then follow-ups."""


class Waiting(Widget):
    """A row for each queued message. The last message can be returned to the prompt; `hint` shows the key."""

    can_focus = False

    def __init__(self, hint: Callable[[], str]) -> None:
        super().__init__()
        self._hint = hint
        self._rows: list[tuple[str, str]] = []
        self.display = False

    def show(self, steering: Sequence[str], follow_ups: Sequence[str]) -> None:
        rows = [("↳ ", text) for text in steering] + [("+ ", text) for text in follow_ups]
        if rows != self._rows:
            self._rows = rows
            self.display = bool(rows)
            self.styles.height = min(MOST_WAITING, len(rows))
            self.refresh()

    def render(self) -> Content:
        width = self.size.width - 2
        hidden = max(0, len(self._rows) - MOST_WAITING)
        rows: list[Content] = []
        for at, (mark, text) in enumerate(self._rows[hidden:]):
            last = at == len(self._rows) - hidden - 1
            tail = f"  {self._hint()}" if last else f"  and {hidden} before" if hidden and not at else ""
            line = clip(one_line(" ".join(text.split())), max(8, width - 2 - len(tail)))
            rows.append(Content.assemble(" ", (mark, "$accent"), (line, "$foreground"), (tail, "$muted")))
        return Content("\n").join(rows)
