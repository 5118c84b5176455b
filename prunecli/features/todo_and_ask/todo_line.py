"""The agent's to-do list above the prompt, in one line that unfolds."""

from typing import cast

from textual import events
from textual.content import Content
from textual.widget import Widget

from prunecli.model.todos import MARKS, Todo, Todos, in_one_line, progress
from prunecli.tui.messages import ActionAsked
from prunecli.tui.screens.frame import Frame
from prunecli.tui.transcript.rows import clip

_STYLES = {"pending": "$foreground", "in_progress": "bold $accent", "completed": "$muted"}


class TodoLine(Widget):
    """The list, folded or not. Hidden while there are no items."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__()
        self._todos: Todos = ()
        self._open = False
        self.display = False

    def show(self, todos: Todos) -> None:
        """Show this list; () hides the line."""
        if todos != self._todos:
            self._todos = todos
            self.display = bool(todos)
            self._lay_out()

    def toggle(self) -> bool:
        """Fold or unfold the list; return False if there is none."""
        self._open = not self._open and bool(self._todos)
        self._lay_out()
        return bool(self._todos)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(ActionAsked("todos"))

    def on_resize(self) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        self.styles.height = 1 + (len(self._rows()) if self._open else 0)
        self.refresh()

    def _rows(self) -> list[Todo | str]:
        """Return the items around the first open one that fit in a third of the screen, and a note on the others."""
        most, count = max(3, self.app.size.height // 3), len(self._todos)
        if count <= most:
            return list(self._todos)
        first_open = next((at for at, todo in enumerate(self._todos) if todo.status != "completed"), 0)
        start = max(0, min(first_open - 1, count - most + 1))
        shown = self._todos[start : start + most - 1]
        return [*shown, f"… {count - len(shown)} more: /todo lists all"]

    def render(self) -> Content:
        width = self.size.width
        key = cast("Frame", self.screen).keys.hint("todos")
        tail = f"  {key} to {'fold' if self._open else 'unfold'}" if key and width >= 60 else ""
        head = f"▾ to-do {progress(self._todos)}" if self._open else f"▸ to-do {in_one_line(self._todos)}"
        line = clip(head, max(8, width - 2 - len(tail)))
        rows = [Content.assemble(" ", (line, "$foreground"), (tail, "$muted"))]
        for row in self._rows() if self._open else ():
            mark, text, style = ("", row, "$muted") if isinstance(row, str) else _drawn(row)
            rows.append(Content.assemble("   ", (clip(f"{mark}{text}", max(8, width - 4)), style)))
        return Content("\n").join(rows)


def _drawn(todo: Todo) -> tuple[str, str, str]:
    return f"{MARKS[todo.status]} ", todo.content, _STYLES[todo.status]
