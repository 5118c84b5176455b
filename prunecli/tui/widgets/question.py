"""A question above the prompt. The prompt keeps the focus and offers each key to the question first.

So there is always a single queue of keys, and no typed or pasted text is lost. `prompting/answering.py` decides which
keys answer.
"""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from prunecli.tui.prompting.answering import QUIET_SECONDS, Answering, Meaning
from prunecli.tui.slices import once

if TYPE_CHECKING:
    from prunecli.tui.program import Program

AGAIN_SECONDS = 0.02
INDENT = 4
"""Cells before an answer, for the mark and the digit. Its other lines have the same indentation."""
MOST_CELLS = 10_000
NOT_YET = "Keys still go to the prompt"
SOON = "Not yet. Press Enter again"
ARROWS_ANSWER = "Up/Down, then Enter, to answer. Your text stays"
STAYS = "Enter to answer. Your text stays"
WITH_TEXT = "Enter to answer with your text"
PENDING = "Answering in a moment · keep typing to cancel"
WRITE = ("Type your answer, then Enter · Esc for the choices", "Type your answer, then Enter")
WRITE_REASON = (
    "Type the reason, then Enter · Enter alone to just say no · Esc to go back",
    "Type why, then Enter · Enter alone: just no",
    "Type why · Enter alone: no",
)
AWAITED, AWAITED_REASON = ("Your answer",), ("The reason, for the model", "The reason")
"""The texts in the empty prompt while it waits for an answer."""
WRITTEN = (f"{WITH_TEXT} · Esc for the choices", WITH_TEXT)

KEYS = ("Enter or a digit to answer · Esc for no",)
KEYS_TEXT = (
    "Enter or a digit to answer · type to say no and why · Esc for no",
    "Enter or a digit · or type why not",
    "Enter, or type why not",
)


class Row(NamedTuple):
    """An answer: its keys, and its label as parts for `Content.assemble`."""

    letters: str
    parts: tuple[str | tuple[str, str], ...]


class Answered(Protocol):
    """The callback for an answer, called with the row number and the text typed for it."""

    def __call__(self, row: int, text: str) -> object: ...


class Typing(Protocol):
    """The part of the prompt's interface that a question uses."""

    @property
    def text(self) -> str: ...
    def take(self) -> str: ...
    def set_text(self, text: str) -> None: ...
    def await_text(self, *forms: str) -> None: ...
    def call_later(self, callback: Callable[[], object]) -> object:
        """Call back after all waiting keys."""


class Question(Vertical, can_focus=False):
    """A question with a row for each answer.

    See `Answering` for `for_text`, `leave`, `marked` and `needs_text`. `clock` must be the clock of key events.
    """

    DEFAULT_CSS = """
    Question {
        height: auto; background: $panel; border-left: thick $warning; padding: 0 1;
        #question { height: auto; max-height: 3; text-style: bold; color: $warning; }
        #note { height: 1; color: $muted; }
        .row { height: auto; }
        &.-early .row { text-style: dim; }
    }
    """

    def __init__(
        self,
        title: str,
        rows: Sequence[Row],
        answered: Answered,
        *,
        for_text: int | None,
        leave: int,
        marked: int = 0,
        needs_text: bool = False,
        hints: Sequence[str] = (),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__()
        self._title = title
        self._rows = list(rows)
        self._answered = answered
        self._for_text = for_text
        self._write: Sequence[str] = WRITE if needs_text else WRITE_REASON
        self._awaited: Sequence[str] = AWAITED if needs_text else AWAITED_REASON
        self._hints = hints
        self._clock = clock
        self._typing: Typing | None = None
        self._quiet: Timer | None = None
        self.is_over = False
        self._refused = ""
        self.answering = Answering(
            [row.letters for row in rows],
            for_text=for_text,
            leave=leave,
            marked=marked,
            needs_text=needs_text,
        )

    def compose(self) -> ComposeResult:
        yield Static(Content(self._title), id="question")
        yield from self.compose_matter()
        for number in range(len(self._rows)):
            yield Static(id=f"row-{number}", classes="row")
        yield Static(id="note")

    def compose_matter(self) -> Sequence[Widget]:
        """Yield the subject of the question, between title and answers."""
        return ()

    def on_mount(self) -> None:
        self._show()
        self.call_after_refresh(self.appear)

    def attach(self, typing: Typing) -> None:
        """Connect to the prompt, which now offers its keys here first."""
        self._typing = typing
        self.answering.holds(typing.text)

    def appear(self) -> None:
        self.answering.appeared(self._clock())
        self._wait()

    def end(self) -> None:
        """Disconnect from the prompt: the question is about to be removed."""
        self.is_over = True
        if self._typing is not None:
            self._typing.await_text()

    # Keys ----------------------------------------------------------------------------------------------------

    def press(self, key: str, at: float) -> bool:
        """Handle a key pressed at this time; return False if it belongs to the prompt."""
        if self._typing is None or self.is_over:
            return False
        self.answering.holds(self._typing.text)
        was_pending = self.answering.is_pending
        meaning = self.answering.press(key, at)
        if meaning is Meaning.ANSWERED:
            self._finish(with_text=key == "enter", pending=was_pending)
            return True
        self._refused = "" if meaning is not Meaning.SOON else ARROWS_ANSWER if self._typing.text else SOON
        self._wait()
        return meaning in (Meaning.MARKED, Meaning.SOON)

    def pasted(self, at: float) -> None:
        self.answering.pasted(at)
        self._wait()

    def holds(self, text: str) -> None:
        self.answering.holds(text)
        self._show()

    def _wait(self) -> None:
        """Show the key hints, now and after the quiet period."""
        self._show()
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = once(self, QUIET_SECONDS, self._behind_the_keys)

    def _behind_the_keys(self) -> None:
        """Answer after the keys in the queue, because a key pressed in time may still be there."""
        if cast("Program", self.app).keys_wait:
            self._quiet = once(self, AGAIN_SECONDS, self._behind_the_keys)
        elif self._typing is not None:
            self.app.call_later(self._typing.call_later, self._after_silence)

    def _after_silence(self) -> None:
        now = self._clock()
        if self.is_over:
            return
        if self.answering.due(now) and self.answering.write():
            cast("Typing", self._typing).set_text("")
            self._show()
        elif self.answering.due(now):
            self._finish(with_text=False, pending=True)
        elif self.answering.is_pending or not self.answering.is_ready(now):
            self._wait()
        else:
            self._show()

    def _finish(self, *, with_text: bool, pending: bool) -> None:
        """Answer with the marked row.

        A letter that answered is removed from the text. Other text stays in the prompt or is sent with the answer.
        """
        self.is_over = True
        row, text = self.answering.marked, ""
        if self._typing is not None:
            if pending:
                self._typing.set_text("")
            elif with_text and row == self._for_text and self._typing.text:
                text = self._typing.take()
        self._answered(row, text)

    def on_click(self, event: events.Click) -> None:
        name = event.widget.id if event.widget is not None else None
        if name and name.startswith("row-"):
            event.stop()
            self.answering.mark(int(name.removeprefix("row-")))
            self._show()

    def on_resize(self) -> None:
        self._show()

    # Display -------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        rows = self.query(".row").results(Static)
        ready = self.answering.is_ready(self._clock())
        self.set_class(not ready, "-early")
        if self.is_over:
            return
        if self._typing is not None:
            self._typing.await_text(*(self._awaited if self.answering.is_writing else ()))
        for number, (row, shown) in enumerate(zip(self._rows, rows, strict=False)):  # none before compose
            mark = "❯ " if number == self.answering.marked else "  "
            digit = (f"{row.letters[0]} ", "bold $accent")
            room = max(1, (self.content_size.width or MOST_CELLS) - INDENT)
            lines = Content.assemble(*row.parts).wrap(room)
            text = Content("\n" + " " * INDENT).join(lines)
            put(shown, Content.assemble((mark, "bold $accent"), digit, text))
        for note in self.query("#note").results(Static):
            put(note, Content(self._refused or self._note(ready)))

    def _note(self, ready: bool) -> str:
        if self.answering.is_pending or not ready:
            return PENDING if self.answering.is_pending else NOT_YET
        if self._typing is not None and self._typing.text.strip():
            if self.answering.marked == self._for_text:
                return self._fitting(WRITTEN) if self.answering.is_writing else WITH_TEXT
            return STAYS if self.answering.was_moved else ARROWS_ANSWER
        return self._fitting(self._write if self.answering.is_writing else self.hints() or ("",))

    def _fitting(self, hints: Sequence[str]) -> str:
        return next((hint for hint in hints if len(hint) <= self.content_size.width), hints[-1])

    def hints(self) -> Sequence[str]:
        """Return the hints, longest first; the longest that fits is shown."""
        return self._hints


def put(where: Static, content: Content) -> None:
    """Show text unless it is already shown, since each update lays out the screen again."""
    if where.content != content:
        where.update(content)
