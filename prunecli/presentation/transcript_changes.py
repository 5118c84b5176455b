"""Transcript changes as values, and a board of the current entry in each slot."""

from dataclasses import dataclass
from typing import TypeAlias

from prunecli.presentation.entries import Entry


@dataclass(frozen=True, slots=True)
class Add:
    """Add a new entry at the bottom."""

    slot: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Put:
    """Replace an entry."""

    slot: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Feed:
    """Append text to a streaming entry."""

    slot: int
    text: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Finish a streaming entry."""

    slot: int


@dataclass(frozen=True, slots=True)
class Tail:
    """Set the last lines of a running call."""

    slot: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Anew:
    """Show the session again from its beginning, because its history changed."""


Change: TypeAlias = Add | Put | Feed | Finish | Tail | Anew


class Board:
    """The current entries by slot, without the text of streaming ones."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, entry: Entry) -> Add:
        """Add an entry in the next slot."""
        self.entries.append(entry)
        return Add(len(self.entries) - 1, entry)

    def put(self, slot: int, entry: Entry) -> Put:
        """Replace the entry in a slot."""
        self.entries[slot] = entry
        return Put(slot, entry)
