"""The effect of planned events on tokens, cache, cost and thinking.

The planned edits are applied on top of those of the context; nothing is folded or recorded. Prices come from the same
function as in the gate.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from prunecli.context.again import amount_of
from prunecli.context.counted import Item, parts_of
from prunecli.context.counting import TokenCounts
from prunecli.context.economics import Break, Market, breaking, cold
from prunecli.context.exchange import Entry
from prunecli.context.expectations import Expectations
from prunecli.context.inputs import shown_edit
from prunecli.context.item_order import covers
from prunecli.context.lost_thinking import ThinkingSum
from prunecli.context.old_thinking import is_old_thinking, thinking_of
from prunecli.context.state import Context
from prunecli.context.thoughts import Form, Place, form, left_out_by, thinks
from prunecli.context.tokens import NOTHING, total
from prunecli.model.edits import Edit
from prunecli.model.events import (
    CompactionApplied,
    Event,
    PrunApplied,
    PrunReverted,
    SettingChanged,
    UserMessage,
)
from prunecli.util.figures import in_tokens, money
from prunecli.util.frozen import frozen

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
                    if entry is not None and entry.takes(edit):
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
        hidden, start = self._is_dropped(head.seq), self._context.boundary
        since = head.seq > start or any(prun > start for part in parts for prun, _ in self._pairs(part.seq))
        return Item(head, parts, texts, self._live_memos(head), hidden, countable=since, silent=silent)

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
        return shown_edit(pairs)

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
        return [edit for _, edit in self._pairs(seq)]

    def _pairs(self, seq: int) -> list[tuple[int, Edit]]:
        return self._edits[seq] if seq in self._edits else self._context.edits_of(seq)

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


NO_THINKING = ThinkingSum()


@frozen
class Impact:
    """The effect of planned events.

    `before` and `after`: tokens of the whole next request. `withheld`: tokens added to the ledger's "pruned",
    negative if something comes back. `change` is None for a pin. `lost`: thinking that the model no longer sees
    although its answers stay. `back`: thinking that it sees again.
    """

    before: int
    after: int
    withheld: int
    change: Break | None
    lost: ThinkingSum = NO_THINKING
    back: ThinkingSum = NO_THINKING

    @property
    def freed(self) -> int:
        """The freed tokens of the window; negative if something comes back."""
        return self.before - self.after

    @property
    def price(self) -> str:
        """The one-time cost and the savings per request, in dollars; "" if unknown."""
        change = self.change
        if change is None or change.cost is None or change.gain is None:
            return ""
        more = "saves" if change.gain >= 0 else "adds"
        return f"costs ~{money(change.cost)} once, {more} ~{money(abs(change.gain))} a request"

    @property
    def thinking(self) -> str:
        """The effect on thinking, in plain text; "" for none."""
        lost = f"drops {self.lost}" if self.lost.blocks else ""
        back = f"brings back {self.back}" if self.back.blocks else ""
        return ", ".join(filter(None, (lost, back)))


class _Moves(NamedTuple):
    """The answers whose thinking is lost, and those whose thinking comes back."""

    lost: list[Entry]
    back: list[Entry]


_NO_MOVES = _Moves([], [])
_PLAIN = ("clear", "trim", "cut", "drop")


def impact(context: Context, events: Iterable[Event], market: Market, *, withholds: bool = True) -> Impact:
    """Compute the effect of these events now. Without `withholds`, `withheld` stays 0.

    Costs O(their edits) plus the bytes after the first one; with bound thinking, also O(answers).
    """
    planned, counts = list(events), context.counts
    altered = [seq for seq, then in counts.since_sent.items() if then is not None and seq in counts.items]
    edited, moves, appended = _edited(context, planned), _NO_MOVES, NOTHING
    if edited is None:
        overlay = Overlay(context, planned)
        heads, dropped = [head.seq for head in overlay.heads()], overlay.dropped()
        moves = _moves(context, overlay, dropped, heads)
        moved = (answer.seq for answers in moves for answer in answers)
        shown = {seq: overlay.item(context.entries[seq], dropped) for seq in (*heads, *altered, *moved)}
        edited = {seq: shown[seq] for seq in heads}
        appended = total(amount_of(context, event) for event in planned if isinstance(event, UserMessage))
    else:
        shown = {seq: counts.items[seq] for seq in altered} | edited
    items = [*edited.values()]
    left = total(map(counts.item_amount, items)).plus(appended)
    freed, withheld = counts.amount_of([item.head for item in items]).minus(left), NOTHING
    if withholds:
        later = map(counts.withheld_by, (item for item in items if item.countable))
        now = counts.withheld_of(item.head.seq for item in items)
        withheld = total(later).minus(now)
    for answers, sign in ((moves.lost, 1), (moves.back, -1)):
        if others := [counts.thinking(answer) for answer in answers if answer.seq not in edited]:
            freed = freed.plus(total(others).times(sign))
    before = counts.context_tokens
    cleared = counts.cleared
    spared = sum([_no_longer_cleared(counts, cleared, item) for item in items]) if cleared else 0
    after = counts.scale.total(*counts.shown.minus(freed)) - sum(cleared.values()) + spared
    lost, back = context.unseen.sum(moves.lost), context.unseen.sum(moves.back)
    if not edited and appended == NOTHING:
        return Impact(before, after, 0, None, lost, back)
    change = breaking(context, shown, before, after, market, at_end=not edited)
    return Impact(before, after, counts.scale.tokens(*withheld), change, lost, back)


def _edited(context: Context, events: Iterable[Event]) -> dict[int, Item] | None:
    """Return the items that these events edit, as they would be shown. Return None unless they are simple: only
    prunes, in a context without thinking."""
    edits: dict[int, list[Edit]] = {}
    for event in events:
        if not isinstance(event, PrunApplied) or context.thoughts.is_any:
            return None
        for edit in event.edits:
            if edit.kind not in _PLAIN:
                return None
            entry = context.entries.get(edit.seq)
            if entry is not None and entry.takes(edit):
                edits.setdefault(entry.exchange.seq if entry.exchange else entry.seq, []).append(edit)
    items = context.counts.items
    return {seq: items[seq].under(found) for seq, found in edits.items() if seq in items}


def _no_longer_cleared(counts: TokenCounts, cleared: Mapping[int, int], item: Item) -> int:
    """Return the tokens of an item that the endpoint would clear now, but not once the item is as planned."""
    parts = [part for part in item.parts if part.seq in cleared]
    if item.hidden:
        return sum(cleared[part.seq] for part in parts)
    shown = (counts.scale.tokens(*counts.amount(part, item.edits.get(part.seq))) for part in parts)
    return sum(max(0, cleared[part.seq] - tokens) for part, tokens in zip(parts, shown, strict=True))


def _moves(context: Context, overlay: Overlay, dropped: frozenset[int], touched: Iterable[int]) -> _Moves:
    unseen, entries = context.unseen, context.entries
    answers = [seq for seq in touched if entries[seq].kind == "assistant"]
    before = unseen.dropped.union(seq for seq in answers if unseen.lacks(seq))
    after = dropped.union(seq for seq in answers if overlay.lacks(seq))
    back = [entries[seq] for seq in sorted(before - after) if overlay.is_sent(seq)]
    sent = Overlay(context)
    return _Moves([entries[seq] for seq in sorted(after - before) if sent.is_sent(seq)], back)


def with_forecast(context: Context, event: PrunApplied) -> PrunApplied:
    """Return a prune about to be recorded, with the number of thinking blocks it costs and its amount for people."""
    found = impact(context, [event], Market())
    return replace(event, thinking_blocks=found.lost.blocks, shown_tokens=max(0, found.withheld))


@frozen
class Decision:
    """A decision whether to apply a proposal now, given its effect.

    `because` is the reason if it is not the price. `summary` is the cost in USD of a compaction that the proposal
    makes unnecessary.
    """

    apply: bool
    found: Impact
    because: str = ""
    summary: float = 0.0

    @property
    def freed(self) -> int:
        """The tokens that the proposal frees."""
        return self.found.freed

    @property
    def reason(self) -> str:
        """The reason as text, with the thinking lost."""
        return ", ".join(filter(None, (self.why, self.found.thinking)))

    @property
    def why(self) -> str:
        """The reason without the thinking lost."""
        also = f"spares a summary (~{money(self.summary)})" if self.apply and self.summary else ""
        return ", ".join(filter(None, (self.because or self._price, also)))

    @property
    def _price(self) -> str:
        change, price = self.found.change, self.found.price
        return price if self.apply or change is None else f"cache {change.warm}; pruning now {price}"


def judge(
    context: Context,
    events: Sequence[PrunApplied],
    market: Market,
    expectations: Expectations | None = None,
) -> Decision:
    """Judge these prunes by a cold cache, an already broken cache, or the break-even point.

    Strategies decide what to prune, the gate when: by the price, never by the size of the context alone. Near the
    compaction limit, a prune that makes a compaction unnecessary also saves the cost of the compaction.
    Without expectations, the expected number of further requests is the number so far.
    """
    found = impact(context, events, market, withholds=False)
    told = [edit for event in events if is_old_thinking(event) for edit in event.edits]
    if told:  # their own reason says it
        found = replace(found, lost=found.lost.minus(thinking_of(context, told)))
    further = expectations.further(context.requests) if expectations else context.requests
    broken = found.change
    if still := broken.cold if broken else cold(context, market):
        return Decision(True, found, still)
    if broken is None or broken.rewritten <= 0:
        return Decision(True, found, "the cache is already broken here")
    spares = market.near_limit(found.before) and not market.near_limit(found.after)
    if not market.read or not market.write or broken.cost is None or broken.gain is None:
        rewrites = f"rewrites {in_tokens(broken.rewritten)}"
        held = f"cache {broken.warm}; pruning now {rewrites}"
        return Decision(spares, found, f"{rewrites} instead of a compaction soon" if spares else held)
    summary = found.before * market.read / 1e6 if spares else 0.0
    return Decision(broken.gain * further + summary > broken.cost, found, summary=summary)


def next_prunes(context: Context, events: Sequence[PrunApplied], market: Market) -> int:
    """Return the number of tokens that these prunes will free with the next request."""
    return impact(context, events, market, withholds=False).freed
