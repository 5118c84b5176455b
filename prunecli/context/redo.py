"""Undo, and redo: prunes again the content that an undo restored, with the same texts, as a new decision."""

from collections.abc import Iterable, Sequence
from itertools import takewhile

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.ledger import prun_applied
from prunecli.context.state import KEPT, RESTORED, Context
from prunecli.context.todo_list import CURRENT
from prunecli.context.view import View
from prunecli.model.claude import is_bound
from prunecli.model.events import SUMMARY_UNDO, Pinned, PrunApplied, PrunReverted, Record

WITH_SUMMARY = "the summary rewrites the cache anyway"
"""The reason of prunes that come with a summary."""
REDONE = "the user wanted it again"


def undoable(context: Context) -> list[Record]:
    """Return the prunes in effect that an undo may take back, oldest first.

    If the model binds its thinking, thinking that was left out stays out: a block that came back would invalidate
    those written meanwhile.
    """
    prunes = context.live_pruns()
    return [one for one in prunes if not _only_strips(one)] if is_bound(context.thoughts.reader) else prunes


def _only_strips(record: Record) -> bool:
    event = record.event
    return isinstance(event, PrunApplied) and all(edit.kind == "strip" for edit in event.edits)


def undo(context: Context, prunes: Sequence[Record]) -> tuple[PrunReverted, *tuple[Pinned, ...]]:
    """Return the events that undo these prunes, newest first, and restore the pins that they removed."""
    seqs = tuple(record.seq for record in reversed(prunes))
    removed = (one for seq in seqs for one in context.prune_history.unpinned.get(seq, ()))
    pins = tuple(dict.fromkeys(one for one in removed if one not in context.pinned))
    return PrunReverted(seqs), *([Pinned(pins)] if pins else [])


def undo_of_summary(context: Context, records: Sequence[Record]) -> tuple[PrunReverted, ...]:
    """Return the events that take the newest summary back, with the prunes that came with it; () without one."""
    if not context.summaries:
        return ()
    seq, prunes = context.summaries[-1].summary.seq, list[int]()
    before = takewhile(lambda one: isinstance(one.event, PrunApplied), reversed(records[:seq]))
    for record in before:
        with_it = isinstance(record.event, PrunApplied) and record.event.reason == WITH_SUMMARY
        prunes += [record.seq] if with_it and record.seq in context.pruns else []
    undone = (PrunReverted(tuple(prunes)),) if prunes else ()
    return *undone, PrunReverted((seq,), (SUMMARY_UNDO,))


def undone(records: Iterable[Record]) -> tuple[tuple[int, PrunApplied], ...]:
    """Return the prunes reverted by the newest undo and not redone, with their numbers; () after another prune."""
    applied: dict[int, PrunApplied] = {}
    stack: list[tuple[tuple[int, PrunApplied], ...]] = []
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
                back = tuple((seq, applied[seq]) for seq in sorted(seqs) if seq in applied)
                stack += [back] if back else []
            case _:
                pass
    return stack[-1] if stack else ()


def redo(view: View, records: Sequence[Record]) -> list[PrunApplied | Pinned]:
    """Return the events that redo the prunes of the newest undo, if they are still possible.

    Pins that such a prune removed, and its undo restored, are removed again.
    """
    events: list[PrunApplied | Pinned] = []
    for prun, event in undone(records):
        unpinned = view.context.prune_history.unpinned.get(prun, ())
        edits = [edit for edit in event.edits if edit.kind == "memo" or _may(view, edit.seq, unpinned)]
        if all(edit.kind == "memo" for edit in edits):
            continue
        if unpinned:
            events.append(Pinned(unpinned, pinned=False))
        events.append(
            prun_applied(view, "user", edits, strategy=event.strategy, memo=event.memo, reason=REDONE)
        )
        view = view.after(edits)
    return events


def _may(view: View, seq: int, unpinned: Sequence[int]) -> bool:
    """Return whether an entry can be pruned again: it is shown, and neither pinned since nor in progress."""
    entry = view.context.entries.get(seq)
    if entry is None or not view.context.is_shown(_head(entry).seq) or not view.keeps(entry.exchange):
        return False
    target = entry.exchange if entry.exchange and entry.kind == "assistant" else entry
    why = view.locked(target)
    if why == "pinned":
        parts = target.entries if isinstance(target, Exchange) else [entry, _head(entry)]
        pins = {part.seq for part in parts} & view.context.pinned
        return pins <= set(unpinned) and not view.in_progress(target)
    return why in ("", RESTORED, KEPT, CURRENT)


def _head(entry: Entry) -> Entry:
    return entry.exchange.head if entry.exchange else entry
