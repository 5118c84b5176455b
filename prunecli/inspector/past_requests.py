"""The request sent at a moment of a log, built from the current context. Nothing is folded again: entries, ids and
results come from the fold, edits and compactions from the log up to that moment. Moving between moments rebuilds only
the differences.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from prunecli.context.counted import Item, parts_of
from prunecli.context.exchange import Entry, Exchange
from prunecli.context.placing import covers, place, words_behind, words_left
from prunecli.context.shown import shown
from prunecli.context.state import Context
from prunecli.context.taking_back import Stacks
from prunecli.context.wire import Shown, Wire
from prunecli.model.edits import Edit
from prunecli.model.events import CompactionApplied, PrunApplied, PrunReverted, Record
from prunecli.model.requests import WireMessage

_AT_A_TIME = 32
"""Items laid out per step."""
_NEVER = 1 << 62
"""A seq greater than that of every entry."""


@dataclass(slots=True)
class Edits:
    """The edits in effect at a moment, in the form `shown` needs."""

    edits: Stacks = field(default_factory=dict)
    memos: Stacks = field(default_factory=dict)
    drops: dict[int, set[int]] = field(default_factory=dict)
    words: dict[int, list[Entry]] = field(default_factory=dict)

    def dropped(self, exchange: Exchange) -> bool:
        """Return whether the exchange is left out."""
        return any(edit.kind == "drop" for _, edit in self.edits.get(exchange.seq, ()))

    def text_edit(self, seq: int) -> Edit | None:
        """Return the edit that replaces this entry's text."""
        kinds = ("clear", "trim", "repair")
        return next((edit for _, edit in reversed(self.edits.get(seq, ())) if edit.kind in kinds), None)

    def edits_of(self, seq: int) -> list[tuple[int, Edit]]:
        """Return all edits of a target."""
        return self.edits.get(seq, [])

    def memos_at(self, exchange: Exchange) -> list[Edit]:
        """Return the memos before an exchange."""
        return [edit for prun, edit in self.memos.get(exchange.seq, ()) if self.drops.get(prun)]

    def words_after(self, seq: int) -> Sequence[Entry]:
        """Return the summaries whose user messages follow an item."""
        return self.words.get(seq, ())

    def apply(self, record: Record, event: PrunApplied, entries: Mapping[int, Entry]) -> None:
        """Apply the edits of a prune."""
        for edit in event.edits:
            entry = entries.get(edit.seq)
            if entry is None or entry.seq > record.seq or not entry.takes(edit.kind):
                continue
            stacks = self.memos if edit.kind == "memo" else self.edits
            stacks.setdefault(edit.seq, []).append((record.seq, edit))
            if edit.kind == "drop":
                self.drops.setdefault(record.seq, set()).add(edit.seq)

    def take_back(self, target: int, only: int | None = None) -> None:
        """End the edits of a target: those of one prune with its memo, or all but memos."""
        gone = [(prun, edit) for prun, edit in self.edits.get(target, ()) if only in (None, prun)]
        self.edits[target] = [pair for pair in self.edits.get(target, ()) if pair not in gone]
        for prun, edit in gone:
            if edit.kind == "drop":
                self.drops[prun].discard(target)
        if only is not None:
            self.memos[target] = [pair for pair in self.memos.get(target, ()) if pair[0] != only]

    def standing(self, seq: int) -> object:
        """Return a value that is equal for equal edits of a target."""
        memos = [pair for pair in self.memos.get(seq, ()) if self.drops.get(pair[0])]
        return self.edits.get(seq, []), memos, [one.seq for one in self.words_after(seq)]


class History:
    """The messages of a context at an earlier moment.

    `move` selects the moment, `messages` returns its messages. `context` has folded the log at least up to that
    moment, on the same branch; `pruning` are that branch's prunes and reverts.
    """

    def __init__(self, context: Context, pruning: Sequence[Record]) -> None:
        self._counts = context.counts
        self._entries = context.entries
        self._pruning = pruning
        there = list(self._entries.values())
        self._summaries = [one for one in there if one.kind == "summary"]
        self._heads = [one for one in there if one.kind not in ("summary", "result")]
        self._seqs = [one.seq for one in self._heads]
        self._ends = list(accumulate(map(_end, self._heads), max))
        self._items: list[Entry] = []
        self._edits = Edits()
        self._weights = [0]
        self._wire = Wire(self._shown)

    def _shown(self, item: Entry) -> Shown:
        return shown(self._edits, item)

    def items(self, at: int) -> list[Entry]:
        """Return the items before record `at`, in order, with the results that had arrived."""
        summaries = [one for one in self._summaries if one.seq < at]
        found: list[Entry] = []
        begin = 0
        for head, end in sorted(map(_gap, summaries)):
            first, last = bisect_right(self._seqs, head), bisect_left(self._seqs, end)
            if first < last:
                found += self._heads[begin:first]
                begin = max(begin, last)
        found += self._heads[begin : bisect_left(self._seqs, at)]
        for one in summaries:
            if not any(_replaces(other, one) for other in summaries):
                insort(found, one, key=_order)
        since = bisect_left(self._ends, at)
        oldest = self._seqs[since] if since < len(self._seqs) else at
        for number in range(len(found) - 1, -1, -1):
            item = found[number]
            if item.kind != "summary" and item.seq < oldest:
                break
            if item.exchange and item.exchange.last_seq >= at:
                found[number] = _as_of(item, item.exchange, at)
        return found

    def edits(self, at: int) -> Edits:
        """Return the edits in effect before record `at`."""
        found, live = Edits(), dict[int, PrunApplied]()
        for record in self._pruning[: bisect_left(self._pruning, at, key=lambda record: record.seq)]:
            match record.event:
                case PrunApplied() as event:
                    live[record.seq] = event
                    found.apply(record, event, self._entries)
                case PrunReverted(seqs=seqs):
                    for seq in seqs:
                        if seq in live:
                            for edit in live.pop(seq).edits:
                                found.take_back(edit.seq, only=seq)
                        elif seq in self._entries and seq < record.seq:
                            found.take_back(seq)
                case _:
                    pass
        if beside := self._beside(at):
            found.words = words_behind(self.items(at), beside)
        return found

    def _beside(self, at: int) -> list[Entry]:
        """Return the summaries whose user messages were in the context before record `at`."""
        found: list[Entry] = []
        for one in self._summaries:
            if one.seq < at and isinstance(one.event, CompactionApplied):
                found = [*words_left(one.event, found), *([one] if one.words else [])]
        return found

    def move(self, at: int) -> Iterator[None]:
        """Go to the moment before record `at`, laying out only the differences.

        Works in steps, so that the caller can stop.
        """
        items, edits = self.items(at), self.edits(at)
        yield
        begin = min(self.common(items, edits), len(self._weights) - 1)
        self._items, self._edits = items, edits
        self._wire.rebuild(items[:begin], start=begin)
        del self._weights[begin + 1 :]
        for number, item in enumerate(items[begin:]):
            self._wire.append(item)
            self._weights.append(self._weights[-1] + self._weight(item))
            if not number % _AT_A_TIME:
                yield

    def common(self, items: Sequence[Entry], edits: Edits) -> int:
        """Return the number of leading items that are the same in both."""
        pairs = enumerate(zip(self._items, items, strict=False))
        same = next((at for at, (a, b) in pairs if a is not b), min(len(self._items), len(items)))
        targets = {seq for each in (self._edits, edits) for seq in (*each.edits, *each.memos, *each.words)}
        changed = {seq for seq in targets if self._edits.standing(seq) != edits.standing(seq)}
        if not changed:
            return same
        heads = {
            entry.exchange.seq if entry.exchange else seq
            for seq in changed
            if (entry := self._entries.get(seq))
        }
        return next((at for at in range(same) if items[at].seq in heads), same)

    def _weight(self, item: Entry) -> int:
        edits, parts = self._edits, item.exchange.entries if item.exchange else [item]
        texts = {part.seq: edit for part in parts if (edit := edits.text_edit(part.seq))}
        memos = edits.memos_at(item.exchange) if item.exchange else []
        hidden = item.exchange is not None and edits.dropped(item.exchange)
        amount = self._counts.item_amount(Item(item, parts_of(item), texts, memos, hidden, countable=False))
        return self._counts.scale.tokens(*amount)

    def messages(self, start: int) -> tuple[WireMessage, ...]:
        """Return the messages from this one on."""
        return self._wire.messages(start)

    def first_message(self, item: int) -> int:
        """Return the index of the first message that may change with this item."""
        return max(0, self._wire.group_at(item) - 1)

    def tokens_before(self, message: int) -> int:
        """Return the tokens of the messages before this one."""
        return self._weights[self._wire.item_at(message)]


def _end(item: Entry) -> int:
    """Return the seq of an item's last entry; later than any while results may still come."""
    if item.exchange is None:
        return item.seq
    return _NEVER if item.exchange.unanswered else item.exchange.last_seq


def _gap(summary: Entry) -> tuple[int, int]:
    """Return the range of entries that a compaction replaced."""
    event = summary.event
    assert isinstance(event, CompactionApplied)  # noqa: S101  # a summary has no other event
    return event.head_end, min(event.tail_start, summary.seq)


def _replaces(later: Entry, one: Entry) -> bool:
    """Return whether a compaction replaced an earlier summary."""
    event = later.event
    return later.seq > one.seq and isinstance(event, CompactionApplied) and covers(event, one)


def _order(item: Entry) -> tuple[int, bool, int]:
    return place(item), item.kind == "summary", item.seq


def _as_of(item: Entry, exchange: Exchange, at: int) -> Entry:
    """Return an assistant message with the results that had arrived before record `at`."""
    results = [result for result in exchange.results if result.seq < at]
    head = replace(item)
    head.exchange = replace(exchange, head=head, results=results)
    return head
