"""The events of an undo, and the edits that end when a prune is undone or an entry is restored."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from prunecli.model.edits import Edit
from prunecli.model.events import Pinned, PrunApplied, PrunReverted, Record

if TYPE_CHECKING:
    from prunecli.context.state import Context

Stacks: TypeAlias = dict[int, list[tuple[int, Edit]]]
"""Edits by target, each with the seq of its PrunApplied."""


def undo(context: "Context", prunes: Sequence[Record]) -> tuple[PrunReverted, *tuple[Pinned, ...]]:
    """Return the events that undo these prunes, newest first, and restore the pins that they removed."""
    seqs = tuple(record.seq for record in reversed(prunes))
    removed = (one for seq in seqs for one in context.prune_history.unpinned.get(seq, ()))
    pins = tuple(dict.fromkeys(one for one in removed if one not in context.pinned))
    return PrunReverted(seqs), *([Pinned(pins)] if pins else [])


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
