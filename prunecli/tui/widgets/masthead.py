"""The top line: program, directory, branch and session name."""

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from prunecli.tui.widgets.fitting import Piece, fitted
from prunecli.util.sanitize import one_line, visible


class Masthead(Widget):
    can_focus = False

    def __init__(self, directory: str) -> None:
        super().__init__()
        self._directory = one_line(directory)
        self._branch = ""
        self._session = ""

    def show_branch(self, branch: str) -> None:
        if branch != self._branch:
            self._branch = branch
            self.refresh()

    def show_session(self, name: str) -> None:
        """Show the session's name; "" for none."""
        if name != self._session:
            self._session = name
            self.refresh()

    def render(self) -> Content:
        line = title_line(self._directory, self._branch, self._session, self.size.width - 2)
        return Content.assemble(" ", line, " ")


def title_line(directory: str, branch: str, session: str, width: int) -> Content:
    left = [
        Piece(("prunecli",), "bold $accent", 9),
        Piece((directory, *_shorter(directory)), "$foreground", 2),
    ]
    if branch:
        left.append(Piece((f"({one_line(branch)})", ""), "$muted", 1, glue=" "))
    name = Content(one_line(session)).truncate(width // 2, ellipsis=True).plain
    right = [Piece((name, ""), "$muted", 3)] if name else []
    return fitted(left, right, width)


def _shorter(path: str) -> tuple[str, ...]:
    """Return the path in forms with fewer and fewer leading folders."""
    parts = path.split("/")
    return tuple("…/" + "/".join(parts[at:]) for at in range(2, len(parts)))


class Banner(Static):
    DEFAULT_CSS = """
    Banner { height: auto; background: $error; color: $background; text-style: bold; padding: 0 1; }
    """

    def __init__(self, text: str) -> None:
        super().__init__(Content(visible(text)))
