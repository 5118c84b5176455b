"""A summary while it is written: a line with its last words, as a running tool has, until its record takes over."""

from prunecli.figures import short
from prunecli.tui.showing.changes import Board, Change, Tail
from prunecli.tui.showing.streaming import NOTHING
from prunecli.tui.transcript import entries as shown

TAIL_CHARS = 300
"""So many characters of what was written last are shown."""


class Summarising:
    """The entry of one summary at a time."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._slot: int | None = None
        self._last = ""

    @property
    def now(self) -> bool:
        """Whether what streams is a summary."""
        return self._slot is not None

    def begin(self, tokens: int, focus: str) -> list[Change]:
        """It is asked for, to make a context of so many tokens smaller."""
        self._last = ""
        about = f"of ~{short(tokens)} tokens" + (f": {focus}" if focus else "")
        added = self._board.add(shown.ToolCall("summary", about, shown.ToolState.RUNNING))
        self._slot = added.slot
        return [added]

    def grow(self, text: str) -> list[Change]:
        """More of it."""
        if self._slot is None:
            return []
        self._last = (self._last + text)[-TAIL_CHARS:]
        return [Tail(self._slot, tuple(self._last.strip("\n").split("\n")))]

    def again(self) -> list[Change]:
        """What was written so far will be written again."""
        self._last = ""
        return [] if self._slot is None else [Tail(self._slot, ())]

    def end(self) -> list[Change]:
        """It is not written any more."""
        slot, self._slot = self._slot, None
        return [] if slot is None else [self._board.put(slot, NOTHING)]
