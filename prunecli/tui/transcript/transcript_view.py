"""The transcript widget: shows entries, follows streaming, folds, searches and selects.

It does not depend on the agent: it receives entries and posts messages. The amount of work depends on the visible
rows, not on the length of the session.
"""

import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from textual.message import Message

from prunecli.front.presentation.entries import Entry, Key, ToolCall
from prunecli.tui.messages import Told
from prunecli.tui.slices import once
from prunecli.tui.transcript.finder import SLICE_SECONDS
from prunecli.tui.transcript.items import Item
from prunecli.tui.transcript.navigator import Navigator
from prunecli.tui.transcript.palette import Palette

FLUSH_SECONDS = 1 / 30
FLOOD_SECONDS = 1 / 12
"""Seconds between frames while more text waits than one flush lays out, to leave time for keys."""
PULSE_SECONDS = 1 / 8


def _milliseconds() -> float:
    return time.monotonic() * 1000


class Transcript(Navigator, can_focus=True):
    """The widget that shows entries. It posts `Unseen`, `RestoreRequested`, `Opened` and `Searched`."""

    FOCUS_ON_CLICK = False  # typing stays in the prompt

    class Unseen(Message):
        def __init__(self, transcript: "Transcript", count: int) -> None:
            super().__init__()
            self.transcript, self.count = transcript, count

    class RestoreRequested(Told):
        def __init__(self, transcript: "Transcript", key: Key) -> None:
            super().__init__()
            self.transcript, self.key = transcript, key

    class Opened(Told):
        def __init__(self, transcript: "Transcript", key: Key, tool: str) -> None:
            super().__init__()
            self.transcript, self.key, self.tool = transcript, key, tool

    def __init__(
        self,
        palette: Palette | None = None,
        *,
        id: str | None = None,  # noqa: A002  # Textual's name
        classes: str | None = None,
        clock: Callable[[], float] = _milliseconds,
    ) -> None:
        """Create an empty transcript. `clock` returns increasing milliseconds, used to time running calls and the
        slices of a search."""
        super().__init__(palette or Palette(), clock, id=id, classes=classes)
        self.opens: Container[str] = ()
        self._unseen = 0
        self._seen_key = 0  # the first entry that was added below the screen
        self._grown = False
        self._flushing = self._pulsing = False
        self._flushed_at = 0.0
        self._fold_scan: Iterator[Item] | None = None

    # -- entries

    def append(self, entry: Entry) -> Key:
        key = self.document.append(entry)
        self._added(self.document.item(key))
        return key

    def append_many(self, entries: Iterable[Entry]) -> list[Key]:
        """Add entries at the bottom. This takes a few microseconds each, since they are laid out only when
        visible."""
        keys = [self.document.append(entry) for entry in entries]
        for key in keys[-50:]:
            self._added(self.document.item(key))
        return keys

    def clear_below_room(self) -> None:
        """Remove all entries and reserve keys for entries to be added above the next ones."""
        self.clear()
        self.document.keep_room()

    def prepend_many(self, entries: Sequence[Entry]) -> list[Key]:
        """Add entries at the top, after `clear_below_room`. The screen does not move.

        None of them may be streaming or running.
        """
        keys = self.document.prepend(entries)
        self._touch()
        return keys

    def _added(self, item: Item | None) -> None:
        self._touch()
        if item and item.running:
            self._start_pulse()
        if item and item.stream and item.stream.pending:
            self._start_flush()

    def replace(self, key: Key, entry: Entry) -> None:
        """Replace an entry, as for a finished tool or a pruning mark.

        Ignored if the entry was cleared. A fold chosen by the user stays.
        """
        self.document.replace(key, entry)
        self._added(self.document.item(key))

    def feed(self, key: Key, delta: str) -> None:
        """Append text to a streaming entry. It is shown within a thirtieth of a second."""
        self.document.feed(key, delta)
        self._start_flush()

    def finish(self, key: Key) -> None:
        self.document.finish(key)
        self._start_flush()
        self._touch()

    def set_tail(self, key: Key, lines: Iterable[str]) -> None:
        """Set the last lines of a running tool, shown below its line until it is replaced."""
        self.document.set_tail(key, lines)
        self._touch()

    def clear(self) -> None:
        self.document.clear()
        self._scan = self._hit = self._fold_scan = self.cursor = None
        self.select(None)
        self.window.follow = True
        self._touch()

    # -- animation and streaming

    def _start_flush(self) -> None:
        if not self._flushing and self.is_running:
            self._flushing = True
            once(self, FLUSH_SECONDS, self._flush)

    def _flush(self) -> None:
        self._flushing = False
        now = time.monotonic()
        flushed, waiting = self.document.flush(), self.document.waiting
        if flushed and (not waiting or now - self._flushed_at > FLOOD_SECONDS):
            self._flushed_at = now
            self._grown = not self.window.follow
            self._settle()
        if waiting:  # more than one flush can lay out: continue after a pause for the keyboard
            self._flushing = True
            once(self, 0.001, self._flush)

    def _start_pulse(self) -> None:
        if not self._pulsing and self.is_running:
            self._pulsing = True
            once(self, PULSE_SECONDS, self._pulse)

    def _pulse(self) -> None:
        self._pulsing = False
        if self.document.tick():
            self._start_pulse()
            if any(line.block.item.running for line in self.window.lines):
                self._settle()

    def on_mount(self) -> None:
        self._start_flush()
        self._start_pulse()

    # -- folding

    def toggle(self, key: Key) -> None:
        item = self.document.item(key)
        if item:
            self._fold([item], not item.folded)

    def toggle_all(self) -> None:
        """Unfold every tool call, thought and long prompt, or fold them if none on the screen is folded.

        The screen changes at once, the rest of a long session gradually.
        """
        shown = {line.block.item.key: line.block.item for line in self.window.lines}
        folded = not any(item.folded for item in shown.values() if item.can_fold)
        self._fold(shown.values(), folded)
        first = self.document.next_key - self.document.count
        upwards = self.document.items(self.window.top_key, -1)
        downwards = self.document.items(max(first, self.window.top_key))
        self._fold_scan = chain(downwards, upwards)
        self._fold_slice(folded)

    def _fold_slice(self, folded: bool) -> None:
        if self._fold_scan is None:
            return
        stop = time.monotonic() + SLICE_SECONDS
        self._settle_stale()
        for item in self._fold_scan:
            self.document.fold(item, folded)
            if time.monotonic() > stop:
                once(self, 0.005, partial(self._fold_slice, folded))
                break
        else:
            self._fold_scan = None
        self._settle()

    def _fold(self, items: Iterable[Item], folded: bool) -> None:
        self._settle_stale()
        self.window.hold()
        for item in items:
            self.document.fold(item, folded)
        self._settle()

    # -- messages

    def _noticed(self) -> None:
        window, document = self.window, self.document
        if window.follow:
            self._seen_key, self._grown = document.next_key, False
        else:
            self._seen_key = max(self._seen_key, window.bottom_key + 1)
        count = max(document.next_key - self._seen_key, int(self._grown))
        if count != self._unseen:
            self._unseen = count
            self.pill_label = f" ↓ {count} new " if count else ""
            self.post_message(self.Unseen(self, count))

    def clicked(self, x: int, y: int) -> None:
        """Handle a click: on the pill go to the bottom, on "restore" ask for the entry, on a fold line toggle it."""
        if self.pill_label and y == self.window.height - 1 and self._pill_cells[0] <= x < self._pill_cells[1]:
            self.end()
            return
        block, _, row = self.window.lines[y]
        item = block.item
        if row.hot and row.hot[0] <= x < row.hot[1]:
            self.post_message(self.RestoreRequested(self, item.key))
        elif row.segments and item.folds_at(block):
            self.toggle(item.key)

    def action_toggle_cursor(self) -> None:
        if self.cursor is None:
            self.action_cursor(-1)
        if self.cursor is not None:
            self.toggle(self.cursor)

    def action_open_cursor(self) -> None:
        """Open the call at the cursor if its tool is in `opens`; fold or unfold any other entry."""
        if self.cursor is None:
            self.action_cursor(-1)
        item = None if self.cursor is None else self.document.item(self.cursor)
        if item and isinstance(item.entry, ToolCall) and item.entry.name in self.opens:
            self.post_message(self.Opened(self, item.key, item.entry.name))
        else:
            self.action_toggle_cursor()

    def action_restore_cursor(self) -> None:
        item = None if self.cursor is None else self.document.item(self.cursor)
        if item and item.pruned:
            self.post_message(self.RestoreRequested(self, item.key))
