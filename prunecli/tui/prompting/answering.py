"""Decides which keys answer a question above the prompt and which are typed. Pure; times are arguments.

A question must never be answered by keys meant for the prompt. Three rules ensure that:
* No key answers until the question has been on the screen for a moment without keys.
* A letter or a digit answers only if typed alone: on an empty prompt, with a pause before and after. It is typed
  first, so that it can begin a longer text.
* Enter answers with the marked row. While something is typed, that is the row that takes text ("No, and ...").

The row that takes text, chosen without any, does not answer: from then on every key belongs to the text, until
Enter answers with it or Esc goes back to the other rows.
"""

from collections.abc import Sequence
from enum import Enum, auto

QUIET_SECONDS = 0.5
"""Seconds without keys before and after a letter that answers, and before the first answer."""


class Meaning(Enum):
    TYPED = auto()
    """Goes to the prompt."""
    MARKED = auto()
    """Marks another row."""
    PENDING = auto()
    """Goes to the prompt, and answers if no key follows: see `Answering.due`."""
    ANSWERED = auto()
    """Answers with the marked row."""
    SOON = auto()
    """Does not answer yet: the question has only just appeared, or the typed text does not fit an answer."""


class Answering:
    """The keys of one question.

    `letters` are the keys of each row. `for_text` is the row that accepts typed text, None if no row does; with
    `needs_text` it does not answer without one. `leave` is the row for Esc.
    """

    def __init__(
        self,
        letters: Sequence[str],
        *,
        for_text: int | None,
        leave: int,
        marked: int = 0,
        needs_text: bool = False,
    ) -> None:
        self._letters = letters
        self._for_text = for_text
        self._needs_text = needs_text
        self._leave = leave
        self._first = marked
        self.marked = marked
        self.was_moved = False
        """Whether the user marked a row since the last change of the text."""
        self.is_writing = False
        """Whether the row that takes text was chosen, and every key belongs to the text."""
        self._text = ""
        self._since = float("inf")
        self._armed = False
        self._pending_since: float | None = None

    def appeared(self, at: float) -> None:
        self._since, self._armed, self._pending_since = at, False, None

    def is_ready(self, at: float) -> bool:
        self._armed = self._armed or at - self._since >= QUIET_SECONDS
        return self._armed

    @property
    def is_pending(self) -> bool:
        return self._pending_since is not None

    def due(self, at: float) -> bool:
        since = self._pending_since
        return since is not None and at - since >= QUIET_SECONDS

    def holds(self, text: str) -> None:
        """Update for the prompt's text: typing marks the row that accepts text."""
        if text != self._text:
            self._text, self.was_moved = text, False
            if not self.is_pending and not self.is_writing:
                self._mark_for_text()

    def _mark_for_text(self) -> None:
        has_words = bool(self._text.strip())
        self.marked = self._for_text if self._for_text is not None and has_words else self._first

    def mark(self, row: int) -> None:
        self.marked, self.was_moved, self._pending_since, self.is_writing = row, True, None, False

    def write(self) -> bool:
        """Wait for text if the marked row takes one; return False if it does not."""
        self.is_writing = self.marked == self._for_text
        if self.is_writing:
            self._pending_since = None
        return self.is_writing

    def pasted(self, at: float) -> None:
        """Handle a paste: it goes into the prompt and does not answer."""
        self._since, self._pending_since = at, None

    def press(self, key: str, at: float) -> Meaning:
        """Return the meaning of a key pressed at this time."""
        if at < self._since:  # pressed before it appeared, and handled late
            return Meaning.TYPED
        ready, quiet = self.is_ready(at), at - self._since >= QUIET_SECONDS
        pending, self._pending_since, self._since = self.is_pending, None, at
        match key:
            case "up" | "down":
                self.mark((self.marked + (1 if key == "down" else -1)) % len(self._letters))
                return Meaning.MARKED
            case "enter" if pending:  # "y", Enter: the quiet period starts at Enter
                self._pending_since = at
                return Meaning.MARKED
            case "enter":
                return self._enter(ready)
            case "escape" if self.is_writing:
                self.is_writing = False
                self._mark_for_text()
                return Meaning.MARKED
            case "escape" | "ctrl+c" if ready and (key == "escape" or pending or not self._text):
                self.marked = self._leave
                return Meaning.ANSWERED
        row = next((row for row, letters in enumerate(self._letters) if key in letters), None)
        if row is None or self._text or self.is_writing or not quiet or len(key) != 1:
            return Meaning.TYPED
        self.marked, self._pending_since = row, at
        return Meaning.PENDING

    def _enter(self, ready: bool) -> Meaning:
        has_words = bool(self._text.strip())
        if not ready:
            return Meaning.TYPED if has_words else Meaning.SOON
        if has_words and self._for_text is None and not self.was_moved:
            return Meaning.SOON
        if not has_words and (self._needs_text or not self.is_writing) and self.write():
            return Meaning.MARKED
        return Meaning.ANSWERED
