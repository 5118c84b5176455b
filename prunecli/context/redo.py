"""Redo: prunes again the content that an undo restored, with the same texts, as a new decision."""

from collections.abc import Iterable, Sequence

from prunecli.context.ledger import prun_applied
from prunecli.context.state import RESTORED
from prunecli.context.todo_list import CURRENT
from prunecli.context.view import View
from prunecli.model.events import PrunApplied, PrunReverted, Record

REDONE = "the user wanted it again"


def undone(records: Iterable[Record]) -> tuple[PrunApplied, ...]:
    """Return the prunes reverted by the newest undo and not redone; () after another prune."""
    applied: dict[int, PrunApplied] = {}
    stack: list[tuple[PrunApplied, ...]] = []
    for record in records:
        match record.event:
            case PrunApplied(reason=reason) as event:
                applied[record.seq] = event
                if reason != REDONE:
                    stack.clear()
                elif stack:
                    stack[-1] = stack[-1][1:]
                    del stack[len(stack) - (not stack[-1]) :]
            case PrunReverted(seqs):
                back = tuple(applied[seq] for seq in sorted(seqs) if seq in applied)
                stack += [back] if back else []
            case _:
                pass
    return stack[-1] if stack else ()


def redo(view: View, records: Sequence[Record]) -> list[PrunApplied]:
    """Return the events that redo the prunes of the newest undo, as far as they are still possible."""
    events: list[PrunApplied] = []
    for event in undone(records):
        edits = [edit for edit in event.edits if edit.kind == "memo" or _may(view, edit.seq)]
        if all(edit.kind == "memo" for edit in edits):
            continue
        events.append(
            prun_applied(view, "user", edits, strategy=event.strategy, memo=event.memo, reason=REDONE)
        )
        view = view.after(edits)
    return events


def _may(view: View, seq: int) -> bool:
    """Return whether an entry can be pruned again: it is shown, and neither pinned nor in progress."""
    entry = view.context.entries.get(seq)
    if entry is None or not view.shows(entry):
        return False
    target = entry.exchange if entry.exchange and entry.kind == "assistant" else entry
    return view.locked(target) in ("", RESTORED, CURRENT)
