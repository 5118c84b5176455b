"""The effect of planned events on tokens, cache, cost and thinking.

The planned edits are applied on top of those of the context; nothing is folded or recorded. Prices come from the same
function as in the gate.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from prunecli.context.again import amount_of
from prunecli.context.counted import Item
from prunecli.context.economics import Break, Market, breaking
from prunecli.context.exchange import Entry
from prunecli.context.overlay import Overlay
from prunecli.context.state import Context
from prunecli.context.token_counts import TokenCounts
from prunecli.context.tokens import NOTHING, total
from prunecli.context.unseen import ThinkingSum
from prunecli.figures import money
from prunecli.frozen import frozen
from prunecli.model.edits import Edit
from prunecli.model.events import Event, PrunApplied, UserMessage

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
_PLAIN = ("clear", "trim", "drop")


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
        moved = (one.seq for answers in moves for one in answers)
        shown = {seq: overlay.item(context.entries[seq], dropped) for seq in (*heads, *altered, *moved)}
        edited = {seq: shown[seq] for seq in heads}
        appended = total(amount_of(context, event) for event in planned if isinstance(event, UserMessage))
    else:
        shown = {seq: counts.items[seq] for seq in altered} | edited
    items = [*edited.values()]
    left = total(map(counts.item_amount, items)).plus(appended)
    freed, withheld = counts.amount_of([item.head for item in items]).minus(left), NOTHING
    if withholds:
        behind = [item for item in items if item.head.seq > context.boundary]
        later, now = map(counts.withheld_by, behind), counts.withheld_of(item.head.seq for item in behind)
        withheld = total(later).minus(now)
    for answers, sign in ((moves.lost, 1), (moves.back, -1)):
        if others := [counts.thinking(one) for one in answers if one.seq not in edited]:
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
            if entry is not None and entry.takes(edit.kind):
                edits.setdefault(entry.exchange.seq if entry.exchange else entry.seq, []).append(edit)
    items = context.counts.items
    return {seq: items[seq].under(found) for seq, found in edits.items() if seq in items}


def _no_longer_cleared(counts: TokenCounts, cleared: Mapping[int, int], item: Item) -> int:
    """Return the tokens of an item that the endpoint would clear now, but not once the item is as planned."""
    found = [part for part in item.parts if part.seq in cleared]
    if item.hidden:
        return sum(cleared[part.seq] for part in found)
    shown = (counts.scale.tokens(*counts.amount(part, item.edits.get(part.seq))) for part in found)
    return sum(max(0, cleared[part.seq] - tokens) for part, tokens in zip(found, shown, strict=True))


def _moves(context: Context, overlay: Overlay, dropped: frozenset[int], touched: Iterable[int]) -> _Moves:
    unseen, entries = context.unseen, context.entries
    answers = [seq for seq in touched if entries[seq].kind == "assistant"]
    before = unseen.dropped.union(seq for seq in answers if unseen.lacks(seq))
    after = dropped.union(seq for seq in answers if overlay.lacks(seq))
    back = [entries[seq] for seq in sorted(before - after) if overlay.is_sent(seq)]
    sent = Overlay(context)
    return _Moves([entries[seq] for seq in sorted(after - before) if sent.is_sent(seq)], back)


def lost_blocks(context: Context, events: Iterable[Event]) -> int:
    """Return the number of thinking blocks that the model would no longer see, as in `Impact.lost`."""
    overlay = Overlay(context, events)
    moves = _moves(context, overlay, overlay.dropped(), [head.seq for head in overlay.heads()])
    return context.unseen.blocks(moves.lost)


def foretold(context: Context, event: PrunApplied) -> PrunApplied:
    """Return a prune about to be recorded, with the number of thinking blocks it costs."""
    return replace(event, thinking_blocks=lost_blocks(context, [event]))
