"""Branching conversations: rows that name their parent, the lines from a root to each leaf, and what they say.

The code does not recurse and does not trust the links: a parent may be missing, come later, or be the row itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from prunecli.session.importers.json_rows import Row
from prunecli.session.importers.origin import Branch, Imported
from prunecli.session.importers.transcript import MALFORMED, Transcript, why
from prunecli.util.frozen import frozen

MOST_BRANCHES = 50
"""Maximum branches read from a file; each one repeats the part that it shares with the main line."""


@frozen
class Node:
    """A row with its id and parent. `spoken` rows are messages; each line ends at a message."""

    row: Row
    id: str
    parent: str | None
    spoken: bool


class Tree:
    """The rows of a file by id. If two share an id, the first wins."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes: dict[str, Node] = {}
        self._before: dict[str, str] = {}
        last = ""
        for node in nodes:
            if node.id in self._nodes:
                continue
            self._nodes[node.id] = node
            self._before[node.id] = last
            last = node.id

    def line(self, leaf: str) -> list[Row]:
        """Return the rows from the root to a leaf.

        If a parent is missing, perhaps on a damaged line, the previous row in the file takes its place.
        """
        nodes: list[Node] = []
        seen: set[str] = set()
        at: str | None = leaf
        while at is not None and at in self._nodes and at not in seen:
            seen.add(at)
            node = self._nodes[at]
            nodes.append(node)
            at = self._parent(node)
        return [node.row for node in reversed(nodes)]

    def leaves(self) -> list[str]:
        """Return the ids of messages that no other message continues, in file order."""
        inner: set[str] = set()
        for node in self._nodes.values():
            if not node.spoken:
                continue
            seen = {node.id}
            at = self._parent(node)
            while at is not None and at in self._nodes and at not in seen and at not in inner:
                seen.add(at)
                inner.add(at)
                at = self._parent(self._nodes[at])
        return [node.id for node in self._nodes.values() if node.spoken and node.id not in inner]

    def _parent(self, node: Node) -> str | None:
        if node.parent is None or node.parent in self._nodes:
            return node.parent
        return self._before[node.id] or None


def shared(main: Mapping[int, int], branch: Mapping[int, int]) -> int:
    """Return the last seq that two lines share. Each maps line numbers of rows to last seqs, in order."""
    common = 0
    for (line, seq), (other, other_seq) in zip(main.items(), branch.items(), strict=False):
        if line != other or seq != other_seq:
            break
        common = seq
    return common


# From rows to a conversation ---------------------------------------------------------------------------------

Line: TypeAlias = Sequence[Row]
Places: TypeAlias = dict[int, int]
"""The last seq after each row, by the row's line number in the file."""


def taken(to: Transcript, line: Line, take: Callable[[Row], None]) -> Places:
    """Take rows in order and return where each ends. A malformed row counts as damage."""
    places: Places = {}
    for row in line:
        try:
            take(row)
        except MALFORMED as error:
            to.damaged.append(f"line {row.line}: {why(error)}")
        places[row.line] = len(to) - 1
    return places


def branching(
    main: Transcript,
    places: Places,
    leaves: Mapping[str, int],
    line_to: Callable[[str], Line],
    transcribed: Callable[[Line], tuple[Transcript, Places]],
) -> Imported:
    """Combine the main line with a branch for each leaf that no earlier line contains.

    `leaves` maps each leaf to the line number of its row. `line_to` returns the rows that lead to a leaf, and
    `transcribed` their transcript, built only when the branch is read.
    """
    others: list[Line] = []
    covered = set(places)
    for leaf, row in leaves.items():
        if row in covered:
            continue
        if len(others) == MOST_BRANCHES:
            main.skip("branches over the limit")
            continue
        others.append(line_to(leaf))
        covered.update(one.line for one in others[-1])

    def branches() -> Iterator[Branch]:
        for line in others:
            other, other_places = transcribed(line)
            yield Branch(other.records(), shared(places, other_places))

    return Imported(main.origin, main.records(), main.left_out, tuple(main.damaged), len(others), branches)
