"""Applies the presenter's changes to the transcript: slots become keys of entries.

A long session is shown from its end. Earlier entries are added above in portions. Until then their slots have no key,
and they are added in their current state.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import assert_never

from prunecli.front.presentation.entries import Entry, Key, Level, Notice
from prunecli.front.presentation.presenter import Presenter, present_all
from prunecli.front.presentation.transcript_changes import Add, Anew, Change, Feed, Finish, Put, Tail
from prunecli.model.events import Record
from prunecli.model.signals import SessionEvent
from prunecli.tui.transcript.transcript_view import Transcript

PORTION = 300
"""Entries added above in one step: two or three milliseconds of work."""


class TranscriptFeed:
    """One transcript and the presenter of its session. `presenter_for` makes a presenter for a new session; `appear`
    is called when there is something to show."""

    def __init__(
        self, transcript: Transcript, presenter_for: Callable[[], Presenter], appear: Callable[[], None]
    ) -> None:
        self._transcript = transcript
        self._appear = appear
        self.prepared: Presenter | None = None
        """A presenter that has already taken the records of the next session."""
        self._presenter_for = presenter_for
        self._presenter = presenter_for()
        self._keys: list[Key] = []
        self._slots: dict[Key, int] = {}
        self._above = 0

    @property
    def is_empty(self) -> bool:
        return not self._transcript.document.count

    @property
    def has_entries(self) -> bool:
        return bool(self._keys)

    def show_all(self, records: Sequence[Record], *, running: bool = False) -> None:
        """Replace the contents with a complete session."""
        prepared, self.prepared = self.prepared, None
        if prepared is not None:
            self._take_over(prepared)
            return
        self._presenter = self._presenter_for()
        entries = present_all(self._presenter, records, running=running)
        self._transcript.clear()
        self._set_keys(self._transcript.append_many(entries), 0)

    def show_end(self, presenter: Presenter, records: Sequence[Record]) -> None:
        """Show the end of a session. Its beginning follows once `prepared` is set."""
        self._presenter = presenter
        entries = present_all(presenter, records)
        self._transcript.clear_below_room()
        self._set_keys(self._transcript.append_many(entries), 0)

    def _take_over(self, presenter: Presenter) -> None:
        """Switch to this presenter, whose last entries are on the screen; `put_above` adds the rest.

        Entries that now differ, such as the line of a call whose beginning was missing, are replaced in place, so the
        screen does not move.
        """
        shown, entries = self._presenter.board.entries, presenter.board.entries
        self._presenter = presenter
        above = len(entries) - len(shown)
        if above < 0 or self._above or len(self._keys) != len(shown):
            self._transcript.clear_below_room()
            above = max(0, len(entries) - PORTION)
            self._set_keys(self._transcript.append_many(entries[above:]), above)
            return
        for key, before, now in zip(self._keys, shown, entries[above:], strict=True):
            if now != before:
                self._transcript.replace(key, now)
        self._set_keys(self._keys, above)

    def put_above(self) -> Iterator[int]:
        """Add the remaining entries above, in steps; yield the number left after each step."""
        presenter = self._presenter
        while self._above and presenter is self._presenter:
            start = max(0, self._above - PORTION)
            keys = self._transcript.prepend_many(presenter.board.entries[start : self._above])
            self._keys[:0] = keys
            self._slots.update(zip(keys, range(start, self._above), strict=True))
            self._above = start
            yield start

    def _set_keys(self, keys: list[Key], above: int) -> None:
        self._keys, self._above = keys, above
        self._slots = {key: slot for slot, key in enumerate(keys, above)}

    def take(self, batch: Iterable[SessionEvent]) -> bool:
        """Show new events; return False if the session must be shown again from its records."""
        for event in batch:
            for change in self._presenter.take(event):
                if isinstance(change, Anew):
                    return False
                self._apply(change)
        return True

    def recount(self) -> Iterator[None]:
        presenter = self._presenter
        for change in presenter.recounted():
            if presenter is not self._presenter:
                return
            if change is not None:
                self._apply(change)
            yield

    def _apply(self, change: Change) -> None:
        transcript = self._transcript
        match change:
            case Add(slot, entry):
                key = transcript.append(entry)
                self._keys.append(key)
                self._slots[key] = slot
            case Put(slot) | Feed(slot) | Finish(slot) | Tail(slot) if slot < self._above:
                pass  # added later, in its state at that time
            case Put(slot, entry):
                transcript.replace(self._keys[slot - self._above], entry)
            case Feed(slot, text):
                transcript.feed(self._keys[slot - self._above], text)
            case Finish(slot):
                transcript.finish(self._keys[slot - self._above])
            case Tail(slot, lines):
                transcript.set_tail(self._keys[slot - self._above], lines)
            case Anew():
                pass  # the caller shows the whole session again
            case _:
                assert_never(change)

    def say(self, text: str, level: Level = Level.INFO) -> None:
        self._transcript.append(Notice(text, level))

    def add(self, entry: Entry) -> Key:
        key = self._transcript.append(entry)
        self._appear()
        return key

    def put(self, key: Key, entry: Entry) -> None:
        self._transcript.replace(key, entry)

    def set_tail(self, key: Key, lines: Sequence[str]) -> None:
        """Set the last lines of output of an entry that is not in the log."""
        self._transcript.set_tail(key, lines)

    def target(self, key: Key) -> int | None:
        """Return the seq of the record that restoring this entry refers to; None if there is none."""
        slot = self._slots.get(key)
        return None if slot is None else self._presenter.target(slot)

    def call(self, key: Key) -> str | None:
        """Return the id of the tool call of this entry; None if there is none."""
        slot = self._slots.get(key)
        return None if slot is None else self._presenter.call(slot)
