"""Puts what the presenter says onto the transcript: slots become keys of entries.

A long session is shown from its end: what stands above is put there in portions, and until then a slot of it has
no key; it is then shown as it is by that time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import assert_never

from prunecli.model.events import Record
from prunecli.model.signals import SessionEvent
from prunecli.presentation.entries import Entry, Key, Level, Notice
from prunecli.presentation.presenter import Presenter, present_all
from prunecli.presentation.transcript_changes import Add, Anew, Change, Feed, Finish, Put, Tail
from prunecli.tui.transcript.transcript_view import Transcript

PORTION = 300
"""Entries that are put above at a time: two or three milliseconds."""


class Stage:
    """One transcript, and the presenter of the session that it shows. `presenter_for` makes one for a new session;
    `appear` is called when there is something to see."""

    def __init__(
        self, transcript: Transcript, presenter_for: Callable[[], Presenter], appear: Callable[[], None]
    ) -> None:
        self._transcript = transcript
        self._appear = appear
        self.prepared: Presenter | None = None
        """Presents the session that is shown next already."""
        self._presenter_for = presenter_for
        self._presenter = presenter_for()
        self._keys: list[Key] = []
        self._slots: dict[Key, int] = {}
        self._above = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was shown yet."""
        return not self._transcript.document.count

    @property
    def has_entries(self) -> bool:
        """Whether anything of the session was shown, not only what the program says."""
        return bool(self._keys)

    def show_all(self, records: Sequence[Record], *, running: bool = False) -> None:
        """Shows a whole session in place of what is shown."""
        prepared, self.prepared = self.prepared, None
        if prepared is not None:
            self._take_over(prepared)
            return
        self._presenter = self._presenter_for()
        entries = present_all(self._presenter, records, running=running)
        self._transcript.clear()
        self._set_keys(self._transcript.append_many(entries), 0)

    def show_end(self, presenter: Presenter, records: Sequence[Record]) -> None:
        """Shows the end of a session whose beginning will come later, when it is `prepared`."""
        self._presenter = presenter
        entries = present_all(presenter, records)
        self._transcript.clear_below_room()
        self._set_keys(self._transcript.append_many(entries), 0)

    def _take_over(self, presenter: Presenter) -> None:
        """The end of this presenter's entries is what is shown; the rest is left to `put_above`.

        Entries that are other ones than those shown (the line of a call whose beginning was missing) are replaced
        where they stand, so that the screen keeps its place.
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
        """Puts the rest above what is shown, a portion for each step; gives how many entries are left."""
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
        """Shows what was told; False where the session has to be shown anew from its records."""
        for event in batch:
            for change in self._presenter.take(event):
                if isinstance(change, Anew):
                    return False
                self._apply(change)
        return True

    def recount(self) -> Iterator[None]:
        """Shows the tokens of all entries as they are counted now, one entry for each step."""
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
                pass  # it will be put above as it then is
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
        """Shows a notice of the program that is in no log."""
        self._transcript.append(Notice(text, level))

    def add(self, entry: Entry) -> Key:
        """Shows an entry that is in no log."""
        key = self._transcript.append(entry)
        self._appear()
        return key

    def put(self, key: Key, entry: Entry) -> None:
        """Shows another one in its place."""
        self._transcript.replace(key, entry)

    def set_tail(self, key: Key, lines: Sequence[str]) -> None:
        """Shows the last lines of what such an entry is about."""
        self._transcript.set_tail(key, lines)

    def target(self, key: Key) -> int | None:
        """The record that a restore of this entry is about; None where there is none."""
        slot = self._slots.get(key)
        return None if slot is None else self._presenter.target(slot)
