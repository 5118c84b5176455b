"""A summary being written: a line with its latest words, like a running tool, until its record arrives."""

from prunecli.figures import short
from prunecli.presentation import entries as shown
from prunecli.presentation.streaming import NOTHING
from prunecli.presentation.transcript_changes import Board, Change, Tail

TAIL_CHARS = 300
"""Trailing characters of the summary shown."""


class Summarizing:
    """The entry of a streaming summary, one at a time."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._slot: int | None = None
        self._last = ""

    @property
    def now(self) -> bool:
        return self._slot is not None

    def begin(self, tokens: int, focus: str) -> list[Change]:
        self._last = ""
        about = f"of ~{short(tokens)} tokens" + (f": {focus}" if focus else "")
        added = self._board.add(shown.ToolCall("summary", about, shown.ToolState.RUNNING))
        self._slot = added.slot
        return [added]

    def grow(self, text: str) -> list[Change]:
        if self._slot is None:
            return []
        self._last = (self._last + text)[-TAIL_CHARS:]
        return [Tail(self._slot, tuple(self._last.strip("\n").split("\n")))]

    def again(self) -> list[Change]:
        self._last = ""
        return [] if self._slot is None else [Tail(self._slot, ())]

    def end(self) -> list[Change]:
        """Remove the entry: the summary is over."""
        slot, self._slot = self._slot, None
        return [] if slot is None else [self._board.put(slot, NOTHING)]
