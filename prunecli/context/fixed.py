"""Fixed sentences of prunecli within a session: which messages have some, and the form in which they are sent.

A model gets them as system messages or as the user's text, at the same place, and always in the same form. So what it
has stored and thought stays valid, also after another model had its turn.
"""

from typing import Protocol

from prunecli.context.exchange import Entry
from prunecli.context.thoughts import Thoughts, note_place
from prunecli.context.wire import Standing, Wire, shown
from prunecli.model.messages import Json
from prunecli.model.notes import SYSTEM
from prunecli.model.requests import Preamble
from prunecli.model.searches import SEARCHES


class Shown(Standing, Protocol):
    """A working context with its items and settings."""

    items: list[Entry]
    settings: dict[str, Json]
    thoughts: Thoughts
    preamble: Preamble
    wire: Wire

    def is_shown(self, seq: int) -> bool:
        """Return whether an entry has its place among `items`."""

    def position(self, seq: int) -> int:
        """Return its index there."""

    def digests(self) -> tuple[bytes, ...]:
        """Return the hash chain: after the preamble, and after each message."""


class Fixed:
    """The fixed sentences of a context; `seqs` are the messages of this branch with some."""

    def __init__(self, context: Shown) -> None:
        self._context = context
        self.seqs: list[int] = []

    def clear(self) -> None:
        self.seqs = []

    @property
    def tells(self) -> bool:
        """Whether they are sent as system messages."""
        return self._context.settings.get(SYSTEM) is True

    def entered(self, entry: Entry) -> None:
        """Follow a message that was added."""
        if entry.fixed:
            self.seqs.append(entry.seq)
            thoughts, place = self._context.thoughts, note_place(entry.seq)
            if self.tells and not thoughts.knows(place):
                thoughts.changed(place, entry.seq, True)

    def set(self, key: str, at: int) -> None:
        """Follow a setting that record `at` changed: it may start the other form."""
        context = self._context
        there = [seq for seq in self.seqs if key == SYSTEM and context.is_shown(seq)]
        for seq in there:
            context.thoughts.changed(note_place(seq), at, self.tells or None)
        if there:
            context.wire.rebuild(start=context.position(there[0]))

    def wire(self, *, tells: bool | None = None) -> Wire:
        """Return an empty wire for a model that takes system messages or does not; None: the one of the settings."""
        context = self._context
        return Wire(
            lambda item: shown(context, item, tells=self.tells if tells is None else tells),
            lambda: context.settings.get(SEARCHES) is False,
        )

    def digests(self, *, tells: bool) -> tuple[bytes, ...]:
        """Return `Context.digests` for a model that takes system messages, or for one that does not."""
        context = self._context
        if not self.seqs or tells is self.tells:
            return context.digests()
        wire = self.wire(tells=tells)
        wire.rebuild(context.items)
        return wire.digests(context.preamble.digest())
