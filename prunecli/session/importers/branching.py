"""Reads a file whose conversation branches (see `tree.py`): its main line and the other branches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from prunecli.session.importers.json_rows import Row
from prunecli.session.importers.origin import Branch, Imported
from prunecli.session.importers.transcript import MALFORMED, Transcript, why
from prunecli.session.importers.tree import MOST_BRANCHES, shared

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
