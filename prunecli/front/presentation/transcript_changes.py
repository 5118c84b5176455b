"""Transcript changes as values, and a board of the current entry in each slot."""

from typing import TypeAlias

from prunecli.front.presentation.entries import Entry
from prunecli.util.frozen import frozen


@frozen
class Add:
    slot: int
    entry: Entry


@frozen
class Put:
    slot: int
    entry: Entry


@frozen
class Feed:
    slot: int
    text: str


@frozen
class Finish:
    slot: int


@frozen
class Tail:
    slot: int
    lines: tuple[str, ...]


@frozen
class Anew:
    """Show the session again from its beginning, because its history changed."""


Change: TypeAlias = Add | Put | Feed | Finish | Tail | Anew


class Board:
    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, entry: Entry) -> Add:
        self.entries.append(entry)
        return Add(len(self.entries) - 1, entry)

    def put(self, slot: int, entry: Entry) -> Put:
        self.entries[slot] = entry
        return Put(slot, entry)
