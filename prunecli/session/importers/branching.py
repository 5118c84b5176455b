"""A file whose conversation branches (`tree.py`), as one import: its main line, and the other lines beside it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from prunecli.session.importers.origin import Branch, Imported
from prunecli.session.importers.rows import Row
from prunecli.session.importers.transcript import MALFORMED, Transcript, why
from prunecli.session.importers.tree import MOST_BRANCHES, shared

Line: TypeAlias = Sequence[Row]
Places: TypeAlias = dict[int, int]
"""The last seq after each row of a line, by the row's own line in the file."""


def taken(to: Transcript, line: Line, take: Callable[[Row], None]) -> Places:
    """Takes the rows of a line in order, one of the wrong shape as damage, and says where each ends."""
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
    """The main line as it was read, and a branch to each leaf that stands in no line before.

    `leaves` gives the row of each leaf as its line in the file, `line_to` the rows that lead there, and
    `transcribed` what they say: that is asked for when a branch is.
    """
    others: list[Line] = []
    covered = set(places)
    for leaf, row in leaves.items():
        if row in covered:
            continue
        if len(others) == MOST_BRANCHES:
            main.skip("branches after the first ones")
            continue
        others.append(line_to(leaf))
        covered.update(one.line for one in others[-1])

    def branches() -> Iterator[Branch]:
        for line in others:
            other, other_places = transcribed(line)
            yield Branch(other.records(), shared(places, other_places))

    return Imported(main.origin, main.records(), main.left_out, tuple(main.damaged), len(others), branches)
