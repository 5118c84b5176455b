"""The outline's values: nodes with their figures, list rows, and turns."""

from dataclasses import dataclass, field
from typing import NamedTuple

from prunecli.context.exchange import Entry
from prunecli.frozen import frozen
from prunecli.inspector.labels import Key, State


class Figures(NamedTuple):
    """A node's tokens.

    `tokens`: in the next request; `original`: before any edit; `age`: requests since it was added; `carried`: tokens
    × requests that included it.
    """

    tokens: int
    original: int
    carried: int
    age: int


@frozen
class Node:
    """One line of the tree.

    Of its `results` results, `pruned` are edited or dropped, and `restored` were restored by an undo. `again` is the
    entry in which a `/restore` shows this one in full, -1 if none. `held` of its tokens were never sent. `known` is
    False for a turn not measured yet.
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
    held: int = 0


class Row(NamedTuple):
    """A node's place in the list of shown nodes; `unfolds` means it has children."""

    depth: int
    key: Key
    unfolds: bool
    is_open: bool


@dataclass(slots=True)
class Turn:
    """A user message, a `!cmd` or a summary, with its attachments and the exchanges up to the next one.

    `head` is None at the start. `start` is its index in the outline's slots.
    """

    head: Entry | None
    start: int
    children: list[Entry] = field(default_factory=list)

    @property
    def seq(self) -> int:
        """The seq of its head, -1 for none."""
        return self.head.seq if self.head else -1

    @property
    def items(self) -> list[Entry]:
        """The head and its children."""
        return [self.head, *self.children] if self.head else self.children
