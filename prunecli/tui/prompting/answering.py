"""Which keys answer a question that stands above the prompt, and which are typed. Pure; times are arguments.

A question must never be answered by what was meant for the prompt. Three rules hold that:

* Nothing answers before the keyboard was quiet for a moment with the question on the screen.
* A letter or a digit answers only alone: on an empty prompt, with silence before it and after it. It is typed at
  first, so that it is the beginning of a text when more follows.
* Enter answers with the marked row. While something is typed that is the row which takes a text ("No, and ...").
"""

from collections.abc import Sequence
from enum import Enum, auto

QUIET_SECONDS = 0.5
"""The silence before and after a letter that answers, and before the first answer of all."""


class Meaning(Enum):
    """What a key is to a question."""

    TYPED = auto()
    """It is the prompt's."""
    MARKED = auto()
    """It marked another row."""
    PENDING = auto()
    """It is the prompt's, and answers if nothing follows: see `Answering.due`."""
    ANSWERED = auto()
    """The marked row is the answer."""
    SOON = auto()
    """It answers nothing yet: the question has only just appeared, or something typed has no place in an answer."""


class Answering:
    """The keys of one question. `letters` are those of each row; `for_text` is the row that what is typed belongs to,
    None where none takes a text; `leave` is the row of Esc."""

    def __init__(self, letters: Sequence[str], *, for_text: int | None, leave: int, marked: int = 0) -> None:
        self._letters = letters
        self._for_text = for_text
        self._leave = leave
        self._first = marked
        self.marked = marked
        self._was_moved = False
        self._text = ""
        self._since = float("inf")
        self._armed = False
        self._pending_since: float | None = None

    def appeared(self, at: float) -> None:
        """The question is on the screen, or is seen again: silence is counted from now."""
        self._since, self._armed, self._pending_since = at, False, None

    def is_ready(self, at: float) -> bool:
        """Whether keys answer."""
        self._armed = self._armed or at - self._since >= QUIET_SECONDS
        return self._armed

    @property
    def is_pending(self) -> bool:
        """Whether a letter waits for silence."""
        return self._pending_since is not None

    def due(self, at: float) -> bool:
        """Whether the letter that was typed answers by now."""
        since = self._pending_since
        return since is not None and at - since >= QUIET_SECONDS

    def holds(self, text: str) -> None:
        """The prompt holds this now: what is typed marks the row that takes it."""
        if text != self._text:
            self._text, self._was_moved = text, False
            if not self.is_pending:
                self.marked = self._first if self._for_text is None or not text else self._for_text

    def mark(self, row: int) -> None:
        """Enter answers with this row."""
        self.marked, self._was_moved, self._pending_since = row, True, None

    def pasted(self, at: float) -> None:
        """A paste is typed: it answers nothing."""
        self._since, self._pending_since = at, None

    def press(self, key: str, at: float) -> Meaning:
        """What a key is that was pressed at a time."""
        if at < self._since:  # pressed before it appeared, and handled late
            return Meaning.TYPED
        ready, quiet = self.is_ready(at), at - self._since >= QUIET_SECONDS
        pending, self._pending_since, self._since = self.is_pending, None, at
        match key:
            case "up" | "down":
                self.mark((self.marked + (1 if key == "down" else -1)) % len(self._letters))
                return Meaning.MARKED
            case "enter" if pending:  # "y", Enter: the silence is counted from Enter
                self._pending_since = at
                return Meaning.MARKED
            case "enter":
                return self._enter(ready)
            case "escape" | "ctrl+c" if ready and (key == "escape" or pending or not self._text):
                self.marked = self._leave
                return Meaning.ANSWERED
        row = next((row for row, letters in enumerate(self._letters) if key in letters), None)
        if row is None or self._text or not quiet or len(key) != 1:
            return Meaning.TYPED
        self.marked, self._pending_since = row, at
        return Meaning.PENDING

    def _enter(self, ready: bool) -> Meaning:
        if not ready:
            return Meaning.TYPED if self._text else Meaning.SOON
        if self._text and self._for_text is None and not self._was_moved:
            return Meaning.SOON
        return Meaning.ANSWERED
