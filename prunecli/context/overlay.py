"""A context as it would be after unrecorded events. Their edits are laid over its own; nothing is folded."""

from collections.abc import Container, Iterable, Iterator

from prunecli.context.counted import Item, parts_of
from prunecli.context.exchange import Entry
from prunecli.context.placing import covers
from prunecli.context.state import Context
from prunecli.context.thoughts import Form, Place, form, left_out_by, thinks
from prunecli.model.edits import Edit
from prunecli.model.events import CompactionApplied, Event, PrunApplied, PrunReverted, SettingChanged

_PLANNED = 1 << 60
"""A placeholder seq for the first unrecorded PrunApplied; later ones get the following numbers."""


class Overlay:
    """The planned state: edits with the seq of their prune, a new summary, the next model.

    Costs O(edits), or O(the context) for a compaction.
    """

    def __init__(self, context: Context, events: Iterable[Event] = ()) -> None:
        self._context = context
        self._edits: dict[int, list[tuple[int, Edit]]] = {}
        self._memos: dict[int, list[tuple[int, Edit]]] = {}
        self._summary: Form = None
        self._place: Place | None = None
        self._left: frozenset[int] | None = None
        self._reader = context.thoughts.reader
        self._next = _PLANNED
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Add one planned event."""
        match event:
            case PrunApplied(edits=edits):
                for edit in edits:
                    entry = self._context.entries.get(edit.seq)
                    if entry is not None and entry.takes(edit.kind):
                        stacks = self._memos_of if edit.kind == "memo" else self._edits_of
                        stacks(edit.seq).append((self._next, edit))
                self._next += 1
            case PrunReverted(seqs=seqs):
                for seq in seqs:
                    self._revert(seq)
            case CompactionApplied() as summary:
                self._compact(summary)
            case SettingChanged("model.name", value):
                self._reader = str(value)
            case _:
                pass

    def _compact(self, event: CompactionApplied) -> None:
        context = self._context
        left = (item.seq for item in context.items if not covers(event, item))
        self._left = frozenset(left)
        if event.block is None:  # the endpoint's own summary keeps thinking valid
            self._place, self._summary = event.head_end + 0.5, (event.summary, event.tail_start)

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
                        self._edits_of(memo.seq)  # a memo is removed with the last of its drops
        self._edits[seq] = []

    def _edits_of(self, seq: int) -> list[tuple[int, Edit]]:
        return self._edits.setdefault(seq, self._context.edits_of(seq))

    def _memos_of(self, seq: int) -> list[tuple[int, Edit]]:
        return self._memos.setdefault(seq, self._context.memos_of(seq))

    def heads(self) -> list[Entry]:
        """Return the shown items of these targets."""
        found: dict[int, Entry] = {}
        for seq in (*self._edits, *self._memos):
            entry = self._context.entries.get(seq)
            head = entry.exchange.head if entry and entry.exchange else entry
            if head is not None and self._context.is_shown(head.seq):
                found[head.seq] = head
        return list(found.values())

    def item(self, head: Entry, dropped: Container[int] = ()) -> Item:
        """Return an item as it would be shown. The endpoint drops the thinking of the `dropped` answers."""
        parts = parts_of(head)
        texts = {part.seq: edit for part in parts if (edit := self._text_edit(part.seq))}
        silent = head.seq in dropped or (head.kind == "assistant" and self.lacks(head.seq))
        hidden = self._is_dropped(head.seq)
        return Item(head, parts, texts, self._live_memos(head), hidden, countable=False, silent=silent)

    def _is_dropped(self, seq: int) -> bool:
        stack = self._stack(seq)
        return bool(stack) and any(edit.kind == "drop" for edit in stack)

    def _live_memos(self, head: Entry) -> list[Edit]:
        seq = head.seq
        found = self._memos[seq] if seq in self._memos else self._context.memos_of(seq)
        return [edit for prun, edit in found if self._has_drops(prun)]

    def _text_edit(self, seq: int) -> Edit | None:
        pairs = self._edits.get(seq)
        if pairs is None:
            return self._context.text_edit(seq)
        kinds = ("clear", "trim", "repair")
        return next((edit for _, edit in reversed(pairs) if edit.kind in kinds), None)

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

    # Thinking ------------------------------------------------------------------------------------------------

    def stale(self) -> tuple[int, ...]:
        """Return the answers whose thinking would be sent but would no longer fit."""
        return self._context.thoughts.stale_with(self._forms, self._thinks, self._reader)

    def dropped(self) -> frozenset[int]:
        """Return the answers whose thinking the endpoint would drop from the next request."""
        return self._context.thoughts.dropped_with(self._forms, self._thinks, self._reader)

    def lacks(self, seq: int) -> bool:
        """Return whether edits would leave out an answer's thinking while the rest is sent."""
        stack = self._stack(seq)
        return bool(stack) and left_out_by(self._context.entries[seq], stack) and self.is_sent(seq)

    def is_sent(self, seq: int) -> bool:
        """Return whether an answer would be in the request at all."""
        if self._left is not None and seq not in self._left:
            return False
        there = self._context.is_shown(seq) and self._context.entries[seq].is_sent
        return there and not self._is_dropped(seq)

    def _stack(self, seq: int) -> list[Edit]:
        pairs = self._edits[seq] if seq in self._edits else self._context.edits_of(seq)
        return [edit for _, edit in pairs]

    def _thinks(self, seq: int) -> bool:
        if seq not in self._edits:
            gone = self._left is not None and seq not in self._left
            return not gone and thinks(self._context, seq)
        return not left_out_by(self._context.entries[seq], self._stack(seq)) and self.is_sent(seq)

    def _forms(self) -> dict[Place, Form]:
        return dict(self._changed_forms())

    def _changed_forms(self) -> Iterator[tuple[Place, Form]]:
        for head in self.heads():
            item = self.item(head)
            yield (
                self._context.thought_place(head.seq),
                form(item.edits, item.memos, hidden=item.hidden),
            )
        if self._place is not None:
            yield self._place, self._summary
