"""The edits that end when a prune is undone or an entry is restored."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied, Record

Stacks: TypeAlias = dict[int, list[tuple[int, Edit]]]
"""Edits by target, each with the seq of its PrunApplied."""


def take_back(
    edits: Stacks,
    memos: Stacks,
    drops: Mapping[int, set[int]],
    pruns: Mapping[int, Record],
    targets: Iterable[int],
    only: int | None = None,
) -> list[int]:
    """Remove the edits of these targets (optionally of one prune).

    Returns the positions of memos that may be removed with them.
    """
    places: list[int] = []
    for seq in targets:
        for stacks in (edits,) if only is None else (edits, memos):
            gone = [(prun, edit) for prun, edit in stacks.get(seq, ()) if only in (None, prun)]
            stacks[seq] = [pair for pair in stacks.get(seq, ()) if pair not in gone]
            for prun, edit in gone:
                if edit.kind == "drop":
                    drops[prun].discard(seq)
                    applied = pruns[prun].event if prun in pruns else None
                    if isinstance(applied, PrunApplied):
                        places += [memo.seq for memo in applied.edits if memo.kind == "memo"]
    return places
