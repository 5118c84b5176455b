"""What planned events would do to tokens, cache and cost, worked out before any of them is recorded.

The edits are laid over the context's own; nothing is folded. Prices come from the function that the gate uses.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from prunecli.context.economics import Break, Market, breaking
from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.context.tokens import NOTHING
from prunecli.model.edits import Edit
from prunecli.model.events import Event, PrunApplied, PrunReverted

_PLANNED = 1 << 60
"""Stands for the seq of a PrunApplied that is not recorded yet; the next one's is one more."""


@dataclass(frozen=True, slots=True)
class Impact:
    """`before` and `after`: tokens of the whole next request. `withheld`: tokens that the ledger's "pruned" grows by,
    negative where something comes back. `change` is None for a pin."""

    before: int
    after: int
    withheld: int
    change: Break | None

    @property
    def freed(self) -> int:
        """Tokens of the window that get free, negative where something comes back."""
        return self.before - self.after


def impact(context: Context, events: Iterable[Event], market: Market) -> Impact:
    """What these events would do now. Costs O(their edits), and what is behind the first of them for its bytes."""
    overlay = _Overlay(context)
    for event in events:
        overlay.apply(event)
    heads = overlay.heads()
    counts = context.counts
    freed = withheld = NOTHING
    for head in heads:
        edits, memos, hidden = overlay.of(head)
        less = counts.amount_of([head]).minus(counts.amount_as(head, edits, memos, hidden=hidden))
        freed = freed.plus(less)
        withheld = withheld.plus(less) if head.seq > context.boundary else withheld
    before, after = counts.context_tokens, counts.scale.total(*counts.shown.minus(freed))
    if not heads:
        return Impact(before, before, 0, None)
    first = min(head.seq for head in heads)
    change = breaking(context, first, before - after, market)
    return Impact(before, after, counts.scale.tokens(*withheld), change)


class _Overlay:
    """The edits of some targets as they would be, each with the seq of its prune."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._edits: dict[int, list[tuple[int, Edit]]] = {}
        self._memos: dict[int, list[tuple[int, Edit]]] = {}
        self._next = _PLANNED

    def apply(self, event: Event) -> None:
        match event:
            case PrunApplied(edits=edits):
                for edit in edits:
                    (self._memos_of if edit.kind == "memo" else self._edits_of)(edit.seq).append(
                        (self._next, edit)
                    )
                self._next += 1
            case PrunReverted(seqs=seqs):
                for seq in seqs:
                    self._revert(seq)
            case _:
                pass

    def _revert(self, seq: int) -> None:
        record = self._context.pruns.get(seq)
        if record is not None and isinstance(record.event, PrunApplied):
            for edit in record.event.edits:
                for stacks in (self._edits_of(edit.seq), self._memos_of(edit.seq)):
                    stacks[:] = [pair for pair in stacks if pair[0] != seq]
            return
        for prun, edit in self._edits_of(seq):
            record = self._context.pruns.get(prun)
            if edit.kind == "drop" and record and isinstance(record.event, PrunApplied):
                for memo in record.event.edits:
                    if memo.kind == "memo":
                        self._edits_of(memo.seq)  # its memo may go with the last of its drops
        self._edits[seq] = []

    def _edits_of(self, seq: int) -> list[tuple[int, Edit]]:
        return self._edits.setdefault(seq, self._context.edits_of(seq))

    def _memos_of(self, seq: int) -> list[tuple[int, Edit]]:
        return self._memos.setdefault(seq, self._context.memos_of(seq))

    def heads(self) -> list[Entry]:
        """The items that these targets belong to and that are shown."""
        found: dict[int, Entry] = {}
        for seq in (*self._edits, *self._memos):
            entry = self._context.entries.get(seq)
            head = entry.exchange.head if entry and entry.exchange else entry
            if head is not None and self._context.is_shown(head.seq):
                found[head.seq] = head
        return list(found.values())

    def of(self, head: Entry) -> tuple[dict[int, Edit], list[Edit], bool]:
        """Edits by entry, memos and whether it is dropped, of an item as it would be."""
        texts = {part.seq: edit for part in _parts(head) if (edit := self._text_edit(part.seq))}
        memos = [edit for prun, edit in self._memos_of(head.seq) if self._has_drops(prun)]
        return texts, memos, any(edit.kind == "drop" for _, edit in self._edits_of(head.seq))

    def _text_edit(self, seq: int) -> Edit | None:
        kinds = ("clear", "trim", "repair")
        return next((edit for _, edit in reversed(self._edits_of(seq)) if edit.kind in kinds), None)

    def _has_drops(self, prun: int) -> bool:
        if prun >= _PLANNED:
            return True
        record = self._context.pruns.get(prun)
        edits = record.event.edits if record and isinstance(record.event, PrunApplied) else ()
        return any(
            edit.kind == "drop"
            and (prun, edit) in self._edits.get(edit.seq, self._context.edits_of(edit.seq))
            for edit in edits
        )


def _parts(head: Entry) -> list[Entry]:
    return head.exchange.entries if head.exchange else [head]
