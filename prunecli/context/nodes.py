"""What the outline gives: nodes with their figures, rows of a list, and turns."""

from dataclasses import dataclass, field
from typing import NamedTuple

from prunecli.context.exchange import Entry
from prunecli.context.labels import Key, State


class Figures(NamedTuple):
    """What the next request holds of a node (`tokens`), what it had before any edit (`original`), the requests since
    it came (`age`), and its tokens counted once for each of them (`carried`)."""

    tokens: int
    original: int
    carried: int
    age: int


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the tree. `pruned` of `results` results in it are edited or dropped, `restored` by an undo. `again`
    is the entry in which a `/restore` shows this one whole, -1 for none.

    Of a turn that is not measured yet the figures are not `known`.
    """

    key: Key
    label: str
    tokens: int
    original: int
    carried: int
    age: int
    state: State
    why: str
    results: int = 0
    pruned: int = 0
    restored: int = 0
    known: bool = True
    again: int = -1


class Row(NamedTuple):
    """A node's place in the list of those that are shown; `unfolds` says whether anything is below it."""

    depth: int
    key: Key
    unfolds: bool
    is_open: bool


@dataclass(slots=True)
class Turn:
    """A user message, a `!cmd` or a summary, with the exchanges up to the next one; `head` None at the start.

    `start` is its place among the outline's slots.
    """

    head: Entry | None
    start: int
    exchanges: list[Entry] = field(default_factory=list)

    @property
    def seq(self) -> int:
        """The seq of its head, -1 for none."""
        return self.head.seq if self.head else -1

    @property
    def items(self) -> list[Entry]:
        """Head and exchanges."""
        return [self.head, *self.exchanges] if self.head else self.exchanges
