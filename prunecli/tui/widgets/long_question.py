"""A question about text of any length, which takes the rows that are left and scrolls."""

from collections.abc import Callable, Sequence
from functools import partial

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from prunecli.tui.widgets.question import KEYS, Question, Row
from prunecli.util.figures import counted

MOST_ROWS = 16
_SCROLLS = {"pageup": -1, "pagedown": 1}


class LongQuestion(Question):
    """A question about a long text. PgUp and PgDn scroll the text while part of it is hidden."""

    DEFAULT_CSS = """
    LongQuestion {
        #what { height: auto; background: $panel; }
        #text { height: auto; }
    }
    """

    text = Content("")
    keys: Sequence[str] = KEYS
    """The hints while all of the text is visible."""
    _fitted: tuple[tuple[object, ...], int] = ((), 0)

    def compose_matter(self) -> Sequence[Widget]:
        what = VerticalScroll(Static(self.text, id="text"), id="what", can_focus=False)
        what.display = bool(self.text.plain)
        return [what]

    def on_mount(self) -> None:
        self.follow()
        self.screen.screen_layout_refresh_signal.subscribe(self, lambda _: self._fit())
        super().on_mount()

    def follow(self) -> None:
        self.watch(self.what(), "scroll_y", self._show, init=False)

    def _fit(self) -> None:
        if self.is_over:
            return
        room = max(1, min(MOST_ROWS, self._rows_left()))
        around = (self.screen.size, *(part.outer_size.height for part in self._around()))
        if self._fitted[0] == around:  # hint and room depend on each other, so the room only shrinks
            room = min(room, self._fitted[1])
        self._fitted = (around, room)
        self.fit(room)
        self._show()

    def fit(self, room: int) -> None:
        """Give the text this many rows at most."""
        self.what().styles.max_height = room

    def _rows_left(self) -> int:
        """Return the rows free for the text; one row of the transcript stays."""
        own = [part for part in self.children if part.display and part is not self.what()]
        taken = sum(part.outer_size.height for part in self._around())
        taken += sum(max(1, part.outer_size.height) for part in own)  # 0 before the first layout
        return self.screen.size.height - 1 - taken

    def _around(self) -> list[Widget]:
        return [part for part in self.screen.children if part is not self and _takes_rows(part)]

    def press(self, key: str, at: float) -> bool:
        """Handle a key as `Question.press` does; PgUp and PgDn scroll the text."""
        if key in _SCROLLS and self.what().max_scroll_y > 0:
            page = max(1, self.what().size.height - 1)
            self.what().scroll_relative(y=_SCROLLS[key] * page, animate=False)
            return True
        return super().press(key, at)

    def what(self) -> Widget:
        return self.query_one("#what")

    def hints(self) -> Sequence[str]:
        """Return the number of hidden lines as a hint, or the key hints if all are visible."""
        what = self.what()
        below = round(what.max_scroll_y - what.scroll_y)
        if below > 0:
            return (f"↓ {counted(below, 'more line')} · PgDn to read on",)
        return ("↑ PgUp to read it again",) if what.max_scroll_y > 0 else self.keys


def choice(
    title: str,
    choices: Sequence[tuple[str, str]],
    answered: Callable[[int], object],
    *,
    leave: int,
    marked: int = 0,
    about: str = "",
) -> Question:
    """Build a question with a label and detail for each answer and no text.

    `about` is shown in full below the title.
    """
    rows = [
        Row(f"{number}{label[:1].lower()}", (label, (f"  {detail}" if detail else "", "$muted")))
        for number, (label, detail) in enumerate(choices, 1)
    ]
    tell = partial(_without_text, answered)
    kind = LongQuestion if about else Question
    question = kind(title, rows, tell, for_text=None, leave=leave, marked=marked, hints=KEYS)
    if isinstance(question, LongQuestion):
        question.text = Content.styled(about, "$foreground")
    return question


def _without_text(answered: Callable[[int], object], row: int, _: str) -> None:
    answered(row)


def _takes_rows(part: Widget) -> bool:
    height = part.styles.height
    return part.display and part.styles.overlay != "screen" and not (height and height.is_fraction)
