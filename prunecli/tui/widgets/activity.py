"""The line above the prompt: the agent's activity and the duration of the whole run, or a temporary hint."""

import re
import time
from collections.abc import Callable

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from prunecli.tui.slices import once
from prunecli.tui.transcript.rows import clip
from prunecli.tui.widgets.fitting import GAP, Piece, fitted
from prunecli.util.figures import countdown
from prunecli.util.sanitize import one_line

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_SECONDS = 1 / 8
HINT_SECONDS = 4.0
_ADDRESS = re.compile(r"https?://[^\s:]+(:\d+)?: ")
"""The address in a retry reason, shown only if there is room."""


class Activity(Widget):
    """A row that is always present, so that nothing moves when work begins or ends. `clock` returns seconds."""

    can_focus = False

    def __init__(self, keys_hint: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._keys_hint = keys_hint
        self._clock = clock
        self._words = self._first = ""
        self._since: float | None = None
        self._retry: tuple[float, str] | None = None
        self._hint = ("", "")
        self._frames: Timer | None = None
        self._hint_over: Timer | None = None
        self._asking = False
        self._asked_at: float | None = None

    def begin(self, words: str) -> None:
        self._words, self._first, self._retry = words, words, None
        self._since = self._clock()
        if self._frames is None:
            self._frames = self.set_interval(FRAME_SECONDS, self.refresh)
        self.refresh()

    def end(self) -> None:
        self._since = None
        self._hint = "", ""
        if self._frames is not None:
            self._frames.stop()
            self._frames = None
        self.refresh()

    def show(self, words: str, retry: tuple[float, str] | None = None) -> None:
        """Show the current activity; `retry` is (seconds until the next attempt, reason)."""
        self._words = words
        self._retry = (self._clock() + retry[0], retry[1]) if retry else None

    def set_asking(self, asking: bool) -> None:
        """Switch to waiting for the user, or back. Waiting has its own clock and is not counted as work."""
        if asking != self._asking:
            now = self._clock()
            if self._since is not None and self._asked_at is not None:
                self._since += now - max(self._since, self._asked_at)
            self._asked_at = now if asking else None
        self._asking = asking
        self.refresh()

    def hint(self, text: str, style: str = "$muted", *, seconds: float | None = HINT_SECONDS) -> None:
        """Show a hint for a few seconds, or with None until it is cleared."""
        self._hint = text, style
        if self._hint_over is not None:
            self._hint_over.stop()
            self._hint_over = None
        if seconds is not None:
            self._hint_over = once(self, seconds, self.clear_hint)
        self.refresh()

    def clear_hint(self) -> None:
        self._hint = "", ""
        self.refresh()

    def render(self) -> Content:
        width = self.size.width - 2
        text, style = self._hint
        hint = [Piece((*_beginnings(one_line(text)), ""), style, 5)] if text else []
        if self._since is None:
            return Content.assemble(" ", fitted(hint, (), width))
        elapsed = self._clock() - (self._since if self._asked_at is None else self._asked_at)
        took = countdown(int(elapsed * 1000)) if elapsed >= 1 else ""
        if took and self._words != self._first and not (self._asking or self._retry):
            took += " total"  # a call in the transcript has its own, shorter time
        frame = FRAMES[int(self._clock() / FRAME_SECONDS) % len(FRAMES)]
        left = [
            Piece(tuple(f"{frame} {words}" for words in self._now()), "$accent", 0),
            Piece((took,), "$muted", 8),
        ]
        keys = "" if self._asking else self._keys_hint()
        right = hint or [Piece((keys, keys.split(GAP)[0], ""), "$muted", 1)]
        return Content.assemble(" ", fitted(left, right, width), " ")

    def _now(self) -> tuple[str, ...]:
        if self._asking:
            return ("Waiting for you",)
        if self._retry:
            left = max(0.0, self._retry[0] - self._clock())
            begin, reason = f"{one_line(self._words)} in {left:.0f}s: ", one_line(self._retry[1])
            return (begin + reason, *_shorter(begin + _ADDRESS.sub("", reason)))
        return _shorter(one_line(self._words))


def _beginnings(hint: str) -> tuple[str, ...]:
    parts = hint.split(GAP)
    return tuple(GAP.join(parts[:count]) for count in range(len(parts), 0, -1))


def _shorter(words: str) -> tuple[str, ...]:
    """Return shorter and shorter forms of the words, to leave room for the duration and the key hint."""
    lengths = len(words) * 2, 60, 52, 46, 40, 32, 24, 12
    return tuple(dict.fromkeys(clip(words, cells) for cells in lengths))
