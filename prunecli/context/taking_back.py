"""Undo of a prune and restore in place: the edits that end with it, and its description."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied, Record

Stacks: TypeAlias = dict[int, list[tuple[int, Edit]]]
"""Edits by target, each with the seq of its PrunApplied."""

_MOST_NAMED = 3


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


def revert_in_words(seqs: Sequence[int], prunes: Collection[int]) -> str:
    """Return a few words for an undo of these prunes, or a restore of these entries in place."""
    undone = [seq for seq in seqs if seq in prunes]
    back = [seq for seq in seqs if seq not in prunes]
    found = f"undid {_named(undone, 'prune', 'prunes')}" if undone else ""
    restored = f"restored {_named(back, 'entry', 'entries')} in place" if back else ""
    return ", ".join(filter(None, (found, restored)))


def _named(seqs: Sequence[int], one: str, many: str) -> str:
    """Return records by number, or their count if there are more than three."""
    if len(seqs) > _MOST_NAMED:
        return f"{len(seqs)} {many}"
    return f"{one if len(seqs) == 1 else many} {', '.join(map(str, seqs))}"
