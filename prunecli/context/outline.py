"""The context as a readable tree: turn, exchange, part, each with tokens, age, carry cost and state.

Tokens are the endpoint's, on the same scale as the ledger. Measuring costs O(entries) once, in steps, and O(touched)
afterwards; a node is computed on demand. `window_map` shows the contents of the window; `listing.py` lists the nodes.
"""

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from prunecli.context import labels
from prunecli.context.counting import NO_CLEARING, Clearing, sum_of
from prunecli.context.exchange import Entry
from prunecli.context.labels import Key, State, Summary
from prunecli.context.measured import (
    NO_SUMS,
    CarryCost,
    Sums,
    ToolSum,
    ToolTotals,
    cut_away,
    held_tokens,
    measured,
    measured_part,
    shown_results,
)
from prunecli.context.state import Context
from prunecli.context.tokens import NOTHING, Amount, apportioned
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
    ToolResult,
    UserMessage,
)
from prunecli.util.frozen import frozen


class Figures(NamedTuple):
    """A node's tokens.

    `tokens`: in the next request; `original`: before any edit; `age`: requests since it was added; `carried`: tokens
    × requests that included it.
    """

    tokens: int
    original: int
    carried: int
    age: int


@frozen
class Node:
    """One line of the tree.

    Of its `results` results, `pruned` are edited or dropped, and `restored` were restored by an undo. `again` is the
    entry in which a `/restore` shows this one in full, -1 if none. `held` of its tokens were never sent. `known` is
    False for a turn not measured yet.
    """

    key: Key
    label: str
    tokens: int
    original: int
    carried: int
    age: int
    state: State
    why: str
    results: int = 0
    pruned: int = 0
    restored: int = 0
    known: bool = True
    again: int = -1
    held: int = 0


class Row(NamedTuple):
    """A node's place in the list of shown nodes; `unfolds` means it has children."""

    depth: int
    key: Key
    unfolds: bool
    is_open: bool


@dataclass(slots=True)
class Turn:
    """A user message, a `!cmd` or a summary, with its attachments, notices and exchanges up to the next one.

    `head` is None at the start. `start` is its index in the outline's slots.
    """

    head: Entry | None
    start: int
    children: list[Entry] = field(default_factory=list)

    @property
    def seq(self) -> int:
        """The seq of its head, -1 for none."""
        return self.head.seq if self.head else -1

    @property
    def items(self) -> list[Entry]:
        """The head and its children."""
        return [self.head, *self.children] if self.head else self.children


_AT_A_TIME = 256
"""Records read per step."""
_AT_ONCE = 300
"""Turns with up to this many children are measured on first use, longer ones in steps."""


class Outline:
    """The tree of one context.

    `take` follows the log; everything else reads. `reading` and `measuring` do in steps what is otherwise done on
    first use. `slots` are the items in order, None for a missing head of the first turn: the list only grows until it
    is replaced. `texts` and `below` are caches of `listing.py` per exchange.
    """

    def __init__(self, context: Context, records: Sequence[Record], summary: Summary = lambda *_: "") -> None:
        self.context = context
        self._summary = summary
        self._records = records
        self._end = len(records)
        self.read = 0
        self._rides = CarryCost()
        self._batches: dict[int, set[int]] = {}
        self._restored_in: tuple[object, Counter[Key]] = (None, Counter())
        self._spared_in: tuple[object, dict[int, int]] = (None, {})
        self._begin()

    def _begin(self) -> None:
        self._moved = len(self.context.unseen.moved)
        self.slots: list[Entry | None] = []
        self.turns: list[Turn] = []
        self._by_seq: dict[int, Turn] = {}
        self._measured: dict[int, Sums] = {}
        self._turn_sums: dict[int, Sums] = {}
        self._whole = Sums()
        self._tools = ToolTotals()
        self.texts: dict[int, str] = {}
        self.below: dict[int, int] = {}
        self._grow()
        self._unmeasured = len(self.slots)

    def _grow(self) -> range:
        """Lay out the new items; return their slots."""
        begin = len(self.slots)
        for item in islice(self.context.items, begin - self._offset, None):
            if item.opens_turn or item.kind == "summary":
                self._open(Turn(item, len(self.slots)))
            elif not self.turns:
                self._open(Turn(None, 0))
                self.slots.append(None)
            if self.turns[-1].head is not item:
                self.turns[-1].children.append(item)
            self.slots.append(item)
        return range(begin, len(self.slots))

    def _open(self, turn: Turn) -> None:
        self.turns.append(turn)
        self._by_seq[turn.seq] = turn

    @property
    def _offset(self) -> int:
        """The offset between the slots and the context's items."""
        return int(bool(self.slots) and self.slots[0] is None)

    # Following -----------------------------------------------------------------------------------------------

    @property
    def is_read(self) -> bool:
        """Whether the initial log is fully read."""
        return self.read >= self._end

    def reading(self) -> Iterator[None]:
        """Read the initial log, in steps."""
        while not self.is_read:
            for record in self._records[self.read : min(self._end, self.read + _AT_A_TIME)]:
                self._rides.take(record)
                self._batch(record)
                self.read += 1
            yield

    @property
    def carry_cost(self) -> CarryCost:
        """The carry cost: how often each entry was sent."""
        if not self.is_read:
            deque(self.reading(), 0)
        return self._rides

    def take(self, records: Sequence[Record]) -> bool:
        """Follow the log to these records; return whether anything changed.

        Costs O(new records and touched entries). After a compaction or a rewind, everything is measured again.
        """
        carry_cost, new = self.carry_cost, records[self.read :]
        if not new:
            return False
        self.read = len(records)
        touched = dict[int, None]()
        for record in new:
            carry_cost.take(record)
            touched.update(dict.fromkeys(self._touched(record)))
        touched.update(dict.fromkeys([one for seq in touched for one in _restored_by(self.context, seq)]))
        self.context.counts.settle()
        moved = self.context.unseen.moved
        touched.update(dict.fromkeys(moved[self._moved :]))
        self._moved = len(moved)
        if any(map(_moves_items, new)):
            self._begin()
            return True
        places = {place for seq in touched if (place := self.place(seq)) is not None}
        for place in places:
            self._measure_again(place)
        for place in self._grow():
            self._add(place, self.slots[place])
        return True

    def _batch(self, record: Record) -> tuple[int, ...]:
        """Return the targets of a prune. Reverting the prune or a part of it affects all of them."""
        if not isinstance(record.event, PrunApplied):
            return ()
        batch = tuple(edit.seq for edit in record.event.edits)
        for seq in (record.seq, *batch):
            self._batches[seq] = {*self._batches.get(seq, ()), *batch}
        return batch

    def _touched(self, record: Record) -> Iterable[int]:
        """Return the entries whose figures or state a record may have changed."""
        match record.event:
            case PrunApplied():
                return self._batch(record)
            case PrunReverted(seqs=seqs):
                return [one for seq in seqs for one in (seq, *self._batches.get(seq, ()))]
            case Pinned(seqs=seqs):
                return seqs
            case AssistantMessage():
                last = next((slot.seq for slot in reversed(self.slots) if slot and slot.exchange), record.seq)
                return (record.seq, last)  # the exchange is no longer in progress
            case ToolResult() | UserMessage():
                return (record.seq,)
            case _:
                return ()

    def place(self, seq: int) -> int | None:
        """Return the slot of an entry, None if it is not shown."""
        entry = self.context.entries.get(seq)
        home = (entry.exchange.head if entry.exchange else entry) if entry else None
        if home is None or not self.context.is_shown(home.seq):
            return None
        place = self.context.position(home.seq) + self._offset
        return place if place < len(self.slots) and self.slots[place] is home else None

    def turn_at(self, place: int) -> Turn:
        return self.turns[bisect_right(self.turns, place, key=lambda turn: turn.start) - 1]

    # Figures -------------------------------------------------------------------------------------------------

    @property
    def is_measured(self) -> bool:
        """Whether the tokens of every item have been added up."""
        return not self._unmeasured

    def measuring(self) -> Iterator[None]:
        """Measure the items that are not measured yet, newest first, in steps."""
        slots = self.slots
        while self._unmeasured and slots is self.slots:
            for _ in range(min(_AT_A_TIME // 16, self._unmeasured)):
                self._unmeasured -= 1
                self._add(self._unmeasured, slots[self._unmeasured])
            yield

    def _add(self, place: int, item: Entry | None) -> None:
        if item is not None:
            sums, turn = self.sums(item), self.turn_at(place).seq
            self._whole = self._whole.plus(sums)
            self._turn_sums[turn] = self._turn_sums.get(turn, NO_SUMS).plus(sums)
            self._tools.count(self.context, self.carry_cost, item)

    def _measure_again(self, place: int) -> None:
        item = self.slots[place]
        if item is None:
            return
        self.texts.pop(item.seq, None)
        self.below.pop(item.seq, None)
        old = self._measured.pop(item.seq, None)
        if place >= self._unmeasured and old is not None:
            turn, more = self.turn_at(place).seq, self.sums(item).minus(old)
            self._whole = self._whole.plus(more)
            self._turn_sums[turn] = self._turn_sums[turn].plus(more)
            self._tools.count(self.context, self.carry_cost, item)

    def sums(self, item: Entry) -> Sums:
        """Return the tokens of an item of the context: a user message, a summary, or an exchange by its head."""
        found = self._measured.get(item.seq)
        if found is None:
            found = self._measured[item.seq] = measured(self.context, self.carry_cost, item)
        return found

    def total(self, items: Iterable[Entry]) -> Sums:
        return reduce(Sums.plus, map(self.sums, items), NO_SUMS)

    def of_turn(self, turn: Turn) -> Sums | None:
        """Return the sums of a turn; None for a long one that is not measured yet."""
        if turn.start >= self._unmeasured:
            return self._turn_sums.get(turn.seq, NO_SUMS)
        return self.total(turn.items) if len(turn.children) <= _AT_ONCE else None

    @property
    def whole(self) -> Sums:
        """The sums of all messages, without system prompt and tools."""
        deque(self.measuring(), 0)
        return self._whole

    @property
    def tools(self) -> list[tuple[str, ToolSum]]:
        """The results of each tool, starting with the most tokens in the next request."""
        deque(self.measuring(), 0)
        return self._tools.largest_first(self.context, self._spared())

    def _spared(self) -> dict[int, int]:
        """Return the tokens that requests did not carry because the endpoint cleared them. Computed once after a
        change."""
        made_for = (self.read, self.context.counts.scale)
        if self._spared_in[0] != made_for:
            self._spared_in = (made_for, self.carry_cost.spared(shown_results(self.context, self.slots)))
        return self._spared_in[1]

    @property
    def preamble(self) -> list[tuple[Key, int]]:
        """System prompt, instruction files and tools with their tokens.

        The tokens are the endpoint's count before the messages, split by length.
        """
        pieces, fixed = labels.preamble(self.context), self.context.counts.fixed
        if fixed and not pieces:  # imported session: the preamble is only in the reports
            pieces = [(Key("system", -1), "")]
        shares = apportioned(fixed, [len(text) for _, text in pieces])
        return [(key, tokens) for (key, _), tokens in zip(pieces, shares, strict=True)]

    # Nodes ---------------------------------------------------------------------------------------------------

    def turn(self, seq: int) -> Turn:
        """Return the turn with this head. Raises KeyError if there is none."""
        return self._by_seq[seq]

    def node(self, key: Key) -> Node:
        """Return the node of a key from `rows`. Raises KeyError if it no longer exists."""
        label, state = self.label(key), labels.state(self.context, key)
        again = labels.shown_again(self.context, key)
        if key.kind in ("turn", "exchange"):
            sums = self._sums_of(key)
            why = labels.why(self.context, key)
            if sums is None:
                return Node(key, label, 0, 0, 0, self._age(key), state, why, known=False)
            figures, restored = self._of_sums(key, sums), self._restored(key)
            held, prunable = self.context.counts.scale.tokens(sums.held), (sums.prunable, sums.pruned)
            return Node(key, label, *figures, state, why, *prunable, restored, again=again, held=held)
        why = "always first" if key.seq == -1 else labels.why(self.context, key)
        held = self.context.counts.scale.tokens(held_tokens(self.context, self.context.entries.get(key.seq)))
        return Node(key, label, *self.figures(key), state, why, again=again, held=held)

    def figures(self, key: Key) -> Figures:
        """Return the figures of a node. Raises KeyError if it no longer exists."""
        if key.kind in ("turn", "exchange"):
            sums = self._sums_of(key)
            return self._of_sums(key, sums) if sums else Figures(0, 0, 0, self._age(key))
        age, counts = self._age(key), self.context.counts
        tokens = counts.scale.tokens
        if key.seq == -1:
            fixed = dict(self.preamble)[key]
            return Figures(fixed, fixed, fixed * age, age)
        if key.kind == "memo":
            memos = [memo for one, memo in self.context.memos_of(key.seq) if one == key.part]
            memo = tokens(sum(map(counts.memo_tokens, memos)))
            return Figures(memo, memo, memo * age, age)
        entry = self.context.entries[key.seq]
        hidden = entry.exchange is not None and self.context.dropped(entry.exchange)
        if key.kind in ("result", "prompt"):
            original, carried = counts.amount(entry), self.carry_cost.carried(entry, self.context)
            shown = NOTHING if hidden else counts.amount(entry, self.context.text_edit(entry.seq))
            now = tokens(*shown) - counts.cleared.get(entry.seq, 0)
            sent = max(0, tokens(*carried) - self._spared().get(entry.seq, 0))
            return Figures(now, tokens(*original), sent, age)
        original = measured_part(self.context, entry, key)
        silent = key.kind == "thinking" and self.context.unseen.lacks(entry.seq)
        shown, carried = NOTHING if hidden or silent else original, original.times(age)
        gone, spared = cut_away(self.context, self.carry_cost, entry, key)
        return Figures(tokens(*shown.minus(gone)), tokens(*original), tokens(*carried.minus(spared)), age)

    def _age(self, key: Key) -> int:
        return (
            self.carry_cost.requests
            if key.seq == -1
            else self.carry_cost.since(key.part if key.kind == "memo" else key.seq)
        )

    def _sums_of(self, key: Key) -> Sums | None:
        if key.kind == "turn":
            return self.of_turn(self._by_seq[key.seq])
        return self.sums(self.context.entries[key.seq])

    def _of_sums(self, key: Key, sums: Sums) -> Figures:
        tokens, memos = self.context.counts.scale.tokens, sums.memos if key.kind == "exchange" else 0
        shown, carried = sums.shown.minus(Amount(memos)), sums.carried(self.carry_cost.requests)
        items = self._by_seq[key.seq].items if key.kind == "turn" else [self.context.entries[key.seq]]
        now = max(0, tokens(*shown) - sum_of(self.context.counts.cleared, items))
        sent = max(0, tokens(*carried) - sum_of(self._spared(), items))
        return Figures(now, tokens(*sums.whole), sent, self._age(key))

    def _restored(self, key: Key) -> int:
        """Return the number of results in a turn or an exchange restored by an undo.

        After a change, the results of all nodes are counted once.
        """
        context, made_for = self.context, (self.read, self.context.turns)
        if self._restored_in[0] != made_for:
            counts: Counter[Key] = Counter()
            for seq in labels.restored(context):
                if (place := self.place(seq)) is not None:
                    home = context.entries[seq].exchange
                    counts[Key("turn", self.turn_at(place).seq)] += 1
                    counts[Key("exchange", home.seq if home else seq)] += 1
            self._restored_in = (made_for, counts)
        return self._restored_in[1][key]

    def label(self, key: Key) -> str:
        """Return the one-line label of the node, not yet sanitized for a terminal."""
        return labels.label(self.context, key, self._summary)


def _moves_items(record: Record) -> bool:
    """Return whether a record changes which items there are, other than by adding one."""
    event = record.event
    return isinstance(event, Rewound | CompactionApplied) or bool(getattr(event, "requires", ()))


def _restored_by(context: Context, seq: int) -> Iterable[int]:
    """Return the entries that an entry shows again at the end."""
    entry = context.entries.get(seq)
    return entry.event.restores if entry and isinstance(entry.event, UserMessage) else ()


Part: TypeAlias = Literal[
    "system", "instructions", "tools", "user", "answers", "results", "notes", "free", "reserve"
]
USED: tuple[Part, ...] = ("system", "instructions", "tools", "user", "answers", "results", "notes")
PARTS: tuple[Part, ...] = (*USED, "free", "reserve")
"""The parts in drawing order; notes are memos and summaries."""


@frozen
class WindowMap:
    """Tokens of each part, in the order of PARTS.

    `used` of `window` is the whole next request. A context larger than its window has no free part and no reserve:
    its parts sum to `used`. `pruned` is withheld content, `held` the part of long results that was never sent, and
    `cleared` the content that the endpoint is expected to clear itself. `limit`: the tokens at which
    room is made. `measured`: the endpoint has counted exactly
    this context. The parts are always estimates.
    """

    tokens: tuple[int, ...]
    used: int
    window: int
    pruned: int
    measured: bool
    cleared: Clearing = NO_CLEARING
    held: int = 0
    limit: int = 0

    def of(self, part: Part) -> int:
        return self.tokens[PARTS.index(part)]

    @property
    def share(self) -> float:
        """The used share of the limit, as shown in the status bar and `/prune-stats`."""
        limit = self.limit or self.window
        return self.used / limit if limit else 0.0

    def cells(self, count: int) -> list[Part]:
        """Return what is used as this many cells, in proportion; each nonempty part gets at least one."""
        there = [part for part in USED if self.of(part) > 0]
        if count < len(there):
            there = sorted(sorted(there, key=self.of, reverse=True)[:count], key=PARTS.index)
        if not there:
            return []
        extra = apportioned(count - len(there), [self.of(part) for part in there])
        wanted = apportioned(count, [self.of(part) for part in there])
        if min(wanted) > 0:
            extra = [cells - 1 for cells in wanted]
        return [part for part, cells in zip(there, extra, strict=True) for _ in range(cells + 1)]


def window_map(outline: Outline, window: int, reserve: int, pruned: int, held: int = 0) -> WindowMap:
    """Compute the current map.

    `reserve`: tokens kept for the answer; `pruned` and `held`: the ledger's figures. Costs O(entries) once and
    O(touched) afterwards.
    """
    counts, sums = outline.context.counts, outline.whole
    scale, used = counts.scale, counts.context_tokens
    parts = dict.fromkeys(USED, 0)
    for key, tokens in outline.preamble:
        parts[_PREAMBLE[key.kind]] += tokens
    parts["user"] = scale.tokens(*sums.user)
    parts["results"] = max(0, scale.tokens(*sums.results) - counts.clearing.tokens)
    parts["notes"] = scale.tokens(*sums.notes)
    parts["answers"] = max(0, used - sum(parts.values()))
    parts[max(USED, key=lambda part: parts[part])] -= sum(parts.values()) - used  # the rounding remainder
    kept = max(0, min(reserve, window - used))
    free = max(0, window - used - kept)
    whole = undivided(outline, window, pruned, held)
    return replace(whole, tokens=(*(parts[part] for part in USED), free, kept))


def undivided(outline: Outline, window: int, pruned: int, held: int = 0) -> WindowMap:
    """Return a map without parts, which shows only how full the window is until the breakdown is known."""
    counts = outline.context.counts
    return WindowMap(
        (0,) * len(PARTS), counts.context_tokens, window, pruned, counts.is_reported, counts.clearing, held
    )


_PREAMBLE: dict[str, Part] = {"system": "system", "instructions": "instructions", "tools": "tools"}
