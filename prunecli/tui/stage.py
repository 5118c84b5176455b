"""Puts what the presenter says onto the transcript: slots become keys of entries."""

from collections.abc import Callable, Iterable, Sequence

from prunecli.model.events import Record
from prunecli.tui.showing.changes import Add, Anew, Change, Feed, Finish, Put, Tail
from prunecli.tui.showing.present import Presenter, present_all
from prunecli.tui.transcript.entries import Entry, Key, Level, Notice
from prunecli.tui.transcript.view import Transcript


class Stage:
    """One transcript, and the presenter of the session that it shows. `presenter_for` makes one for a new session."""

    def __init__(self, transcript: Transcript, presenter_for: Callable[[], Presenter]) -> None:
        self._transcript = transcript
        self._presenter_for = presenter_for
        self._presenter = presenter_for()
        self._keys: list[Key] = []
        self._slots: dict[Key, int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was shown yet."""
        return not self._transcript.document.count

    def show_all(self, records: Sequence[Record], *, running: bool = False) -> None:
        """Shows a whole session in place of what is shown."""
        self._presenter = self._presenter_for()
        entries = present_all(self._presenter, records, running=running)
        self._transcript.clear()
        self._keys = self._transcript.append_many(entries)
        self._slots = {key: slot for slot, key in enumerate(self._keys)}

    def take(self, batch: Iterable[object]) -> bool:
        """Shows what was told; False where the session has to be shown anew from its records."""
        for told in batch:
            for change in self._presenter.take(told):
                if isinstance(change, Anew):
                    return False
                self._apply(change)
        return True

    def _apply(self, change: Change) -> None:
        transcript = self._transcript
        match change:
            case Add(slot, entry):
                key = transcript.append(entry)
                self._keys.append(key)
                self._slots[key] = slot
            case Put(slot, entry):
                transcript.replace(self._keys[slot], entry)
            case Feed(slot, text):
                transcript.feed(self._keys[slot], text)
            case Finish(slot):
                transcript.finish(self._keys[slot])
            case Tail(slot, lines):
                transcript.set_tail(self._keys[slot], lines)
            case _:
                pass

    def say(self, text: str, level: Level = Level.INFO) -> None:
        """Shows a notice of the program that is in no log."""
        self._transcript.append(Notice(text, level))

    def add(self, entry: Entry) -> Key:
        """Shows an entry that is in no log."""
        return self._transcript.append(entry)

    def put(self, key: Key, entry: Entry) -> None:
        """Shows another one in its place."""
        self._transcript.replace(key, entry)

    def target(self, key: Key) -> int | None:
        """The record that a restore of this entry is about; None where there is none."""
        slot = self._slots.get(key)
        return None if slot is None else self._presenter.target(slot)
