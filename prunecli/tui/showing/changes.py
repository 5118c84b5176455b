"""Changes of the transcript as values, and the board that remembers what each slot shows."""

from dataclasses import dataclass
from typing import TypeAlias

from prunecli.tui.transcript.entries import Entry


@dataclass(frozen=True, slots=True)
class Add:
    """A new entry at the bottom."""

    slot: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Put:
    """Another value in place of an entry."""

    slot: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Feed:
    """More text of a streaming entry."""

    slot: int
    text: str


@dataclass(frozen=True, slots=True)
class Finish:
    """A streaming entry is complete."""

    slot: int


@dataclass(frozen=True, slots=True)
class Tail:
    """The last lines of a running call."""

    slot: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Anew:
    """The session went another way: it has to be shown from its beginning."""


Change: TypeAlias = Add | Put | Feed | Finish | Tail | Anew


class Board:
    """The entries by slot, as they were said last; of one that streams without its text."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, entry: Entry) -> Add:
        """A new entry in the next slot."""
        self.entries.append(entry)
        return Add(len(self.entries) - 1, entry)

    def put(self, slot: int, entry: Entry) -> Put:
        """Another value in a slot."""
        self.entries[slot] = entry
        return Put(slot, entry)
