"""The context as a tree that a person can read: user turn, exchange, part, each with tokens, age, carry cost, state.

Token figures are raw estimates, as edits and the ledger have them; `map.py` says how the window is filled.
Measuring costs O(entries) once and O(touched) afterwards; a node is worked out when it is asked for.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from prunecli.context import labels
from prunecli.context.exchange import Entry
from prunecli.context.labels import Key, State, Summary
from prunecli.context.rides import Rides
from prunecli.context.state import Context
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
    ToolResult,
    UserMessage,
)

_KINDS = {
    "user": "user",
    "command": "results",
    "assistant": "assistant",
    "result": "results",
    "summary": "notes",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the tree. `tokens` is what the next request holds of it, `original` what it had before any edit.

    `age` is the number of requests since it came, `carried` its tokens counted once for each of them. `pruned` of
    `results` results in it are edited or dropped.
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


class Row(NamedTuple):
    """A node's place in the list of those that are shown; `unfolds` says whether anything is below it."""

    depth: int
    key: Key
    unfolds: bool
    is_open: bool


@dataclass(frozen=True, slots=True)
class Sums:
    """Raw tokens of an item, by what they are, as shown; and what it carried up to `requests`.

    Notes are summaries and memos; `memos` of them began later than the item did and are not carried with it.
    """

    user: int = 0
    assistant: int = 0
    results: int = 0
    notes: int = 0
    original: int = 0
    carried: int = 0
    requests: int = 0
    count: int = 0
    pruned: int = 0
    memos: int = 0

    @property
    def shown(self) -> int:
        """Everything of it that the next request holds."""
        return self.user + self.assistant + self.results + self.notes


@dataclass(slots=True)
class Turn:
    """A user message, a `!cmd` or a summary, with the exchanges up to the next one; `head` None at the start."""

    head: Entry | None
    exchanges: list[Entry] = field(default_factory=list)

    @property
    def seq(self) -> int:
        """The seq of its head, -1 for none."""
        return self.head.seq if self.head else -1

    @property
    def items(self) -> list[Entry]:
        """Head and exchanges."""
        return [self.head, *self.exchanges] if self.head else self.exchanges


class Outline:
    """The tree of one context. `take` follows the log; everything else reads."""

    def __init__(self, context: Context, records: Sequence[Record], summary: Summary = lambda *_: "") -> None:
        self.context = context
        self.rides = Rides(records)
        self._summary = summary
        self._began(records)

    def _began(self, records: Sequence[Record]) -> None:
        self.read = len(records)
        self._counter = self.context.tally.counter
        self._measured: dict[int, Sums] = {}
        self._turn_sums: dict[int, Sums] = {}
        self._batches: dict[int, set[int]] = {}
        for record in records:
            if isinstance(record.event, PrunApplied):
                self._touched(record)
        self._regroup()

    def take(self, records: Sequence[Record]) -> bool:
        """The log holds these records now. Whether anything is different from before."""
        new = records[self.read :]
        if not new and self._counter is self.context.tally.counter:
            return False
        for record in new:
            self.rides.take(record)
        touched = {seq for record in new for seq in self._touched(record)}
        if self._counter is not self.context.tally.counter or any(
            isinstance(record.event, Rewound | CompactionApplied) for record in new
        ):
            self._began(records)
            return True
        self.read = len(records)
        self._regroup()
        heads = [turn.seq for turn in self.turns]
        for seq in touched:
            if entry := self.context.entries.get(seq):
                home = (entry.exchange.head if entry.exchange else entry).seq
                self._measured.pop(home, None)
                self._turn_sums.pop(heads[max(0, bisect_right(heads, home) - 1)], None)
        return True

    def _touched(self, record: Record) -> Iterable[int]:
        """The entries whose figures a record may have changed."""
        match record.event:
            case PrunApplied(edits=edits):
                batch = tuple(edit.seq for edit in edits)
                self._batches.update(
                    {seq: {*self._batches.get(seq, ()), *batch} for seq in (record.seq, *batch)}
                )
                return batch
            case PrunReverted(seqs=seqs):
                return {one for seq in seqs for one in (seq, *self._batches.get(seq, ()))}
            case ToolResult() | UserMessage() | AssistantMessage():
                return (record.seq,)
            case _:
                return ()

    def _regroup(self) -> None:
        self.turns: list[Turn] = []
        for item in self.context.items:
            if item.kind != "assistant":
                self.turns.append(Turn(item))
            else:
                if not self.turns:
                    self.turns.append(Turn(None))
                self.turns[-1].exchanges.append(item)
        self._by_seq = {turn.seq: turn for turn in self.turns}
        self._searched: list[tuple[Row, str]] | None = None

    # Figures -------------------------------------------------------------------------------------------------

    def sums(self, item: Entry) -> Sums:
        """The tokens of an item of the context: a user message, a summary, or an exchange by its head."""
        found = self._measured.get(item.seq)
        if found is None:
            found = self._measured[item.seq] = self._measure(item)
        return found

    def _measure(self, item: Entry) -> Sums:
        context, tally = self.context, self.context.tally
        parts = item.exchange.entries if item.exchange else [item]
        hidden = item.exchange is not None and context.dropped(item.exchange)
        shown = {"user": 0, "assistant": 0, "results": 0, "notes": 0}
        original = carried = pruned = count = 0
        for entry in parts:
            edit = context.text_edit(entry.seq)
            tokens = tally.tokens(entry)
            original += tokens
            carried += self.rides.carried(entry, tally)
            count += entry.prunable
            pruned += entry.prunable and (hidden or edit is not None)
            if not hidden:
                typed = sum(map(tally.counter.count, entry.typed))
                shown["user"] += typed
                shown[_KINDS[entry.kind]] += tally.shown_tokens(entry, edit) - typed
        texts = [memo.text or "" for memo in context.memos_at(item.exchange)] if item.exchange else []
        memos = sum(map(tally.counter.count, texts))
        shown["notes"] += memos
        now = self.rides.requests
        return Sums(
            **shown, original=original, carried=carried, requests=now, count=count, pruned=pruned, memos=memos
        )

    def total(self, items: Iterable[Entry]) -> Sums:
        """The sums of several items."""
        user = assistant = results = notes = original = carried = count = pruned = memos = 0
        now = self.rides.requests
        for item in items:
            one = self.sums(item)
            user, assistant = user + one.user, assistant + one.assistant
            results, notes = results + one.results, notes + one.notes
            original, count, pruned = original + one.original, count + one.count, pruned + one.pruned
            carried += one.carried + (one.shown - one.memos) * (now - one.requests)
            memos += one.memos
        return Sums(user, assistant, results, notes, original, carried, now, count, pruned, memos)

    def of_turn(self, turn: Turn) -> Sums:
        """The sums of a turn; worked out once until it is touched or another request is made."""
        found = self._turn_sums.get(turn.seq)
        if found is None or found.requests != self.rides.requests:
            found = self._turn_sums[turn.seq] = self.total(turn.items)
        return found

    @property
    def whole(self) -> Sums:
        """The sums of all messages; without system prompt and tools."""
        now, sums = self.rides.requests, [self.of_turn(turn) for turn in self.turns]
        names = ("user", "assistant", "results", "notes", "original", "carried", "count", "pruned", "memos")
        added = {name: sum(getattr(one, name) for one in sums) for name in names}
        return Sums(**added, requests=now)

    # The list ------------------------------------------------------------------------------------------------

    def rows(self, is_open: Callable[[Key], bool]) -> list[Row]:
        """The nodes that are shown while these are unfolded, from top to bottom."""
        out: list[Row] = []
        deque(self.rows_in_steps(is_open, out), 0)
        return out

    def rows_in_steps(self, is_open: Callable[[Key], bool], out: list[Row]) -> Iterator[None]:
        """Appends the rows to `out`, a step for each turn and each exchange. It is begun anew after a change."""
        out.extend(Row(0, key, unfolds=False, is_open=False) for key, _ in labels.preamble(self.context))
        for turn in self.turns:
            key = Key("turn", turn.seq)
            opened = bool(turn.exchanges) and is_open(key)
            out.append(Row(0, key, bool(turn.exchanges), opened))
            yield
            if opened:
                for head in turn.exchanges:
                    self._exchange_rows(head, is_open, out)
                    yield

    def _exchange_rows(self, head: Entry, is_open: Callable[[Key], bool], out: list[Row]) -> None:
        key, exchange = Key("exchange", head.seq), head.exchange
        for prun, edit in self.context.memos_of(head.seq):
            if self.context.in_force(prun, edit):
                out.append(Row(1, Key("memo", head.seq, prun), unfolds=False, is_open=False))
        opened = is_open(key)
        unfolds = exchange is not None and (bool(exchange.calls) or len(labels.parts_of(head)) > 1)
        out.append(Row(1, key, unfolds, opened and unfolds))
        if opened and unfolds and exchange is not None:
            out.extend(Row(2, part, unfolds=False, is_open=False) for part in labels.parts_of(head))
            results = (Key("result", result.seq) for result in exchange.results)
            out.extend(Row(2, part, unfolds=False, is_open=False) for part in results)

    def found(self, words: str) -> list[Row]:
        """The nodes whose label, tool or state holds these words (any case), with the nodes above them.

        Costs O(entries) once after each change, then a comparison for each node.
        """
        out: list[Row] = []
        deque(self.found_in_steps(words, out), 0)
        return out

    def found_in_steps(self, words: str, out: list[Row]) -> Iterator[None]:
        """Appends what is found to `out`, in steps of a few nodes. It is begun anew after a change."""
        every = self._searched
        if every is None:
            rows: list[Row] = []
            yield from self.rows_in_steps(lambda _: True, rows)
            every = []
            for row in rows:
                every.append((row, self._haystack(row.key)))
                yield
            self._searched = every
        wanted, above = words.lower(), list[Row | None]()  # the way to a node; None where it is shown already
        for at, (row, haystack) in enumerate(every):
            del above[row.depth :]
            above.append(row)
            if wanted in haystack:
                out.extend(one for one in above if one is not None)
                above = [None] * len(above)
            if not at % 64:
                yield

    def _haystack(self, key: Key) -> str:
        return f"{key.seq} {self.label(key)} {labels.state(self.context, key)}".lower()

    # Nodes ---------------------------------------------------------------------------------------------------

    def turn(self, seq: int) -> Turn:
        """The turn whose head this is. Raises KeyError for none."""
        return self._by_seq[seq]

    def node(self, key: Key) -> Node:
        """The node of a key that `rows` gave. Raises KeyError once it is gone."""
        if key.seq == -1 and key.kind != "turn":
            text = dict(labels.preamble(self.context))[key]
            tokens = self.context.tally.counter.count(text)
            rides = self.rides.requests
            why = "stands before everything"
            return Node(key, self.label(key), tokens, tokens, tokens * rides, rides, "live", why)
        if key.kind == "turn":
            turn = self._by_seq[key.seq]
            return self._of_sums(key, self.of_turn(turn), turn.items[0])
        entry = self.context.entries[key.seq]
        if key.kind == "exchange":
            return self._of_sums(key, self.total([entry]), entry, without_memos=True)
        if key.kind == "memo":
            prun, edit = key.part, labels.memo_of(self.context, key)
            tokens = self.context.tally.counter.count(edit.text or "")
            age = self.rides.since(prun)
            return Node(
                key, self.label(key), tokens, tokens, tokens * age, age, "memo", labels.why(self.context, key)
            )
        tally = self.context.tally
        if key.kind == "result":
            original = tally.tokens(entry)
            hidden = entry.exchange is not None and self.context.dropped(entry.exchange)
            shown = 0 if hidden else tally.shown_tokens(entry, self.context.text_edit(entry.seq))
            carried = self.rides.carried(entry, tally)
        else:
            original = sum(map(tally.counter.count, labels.texts_of(entry, key.kind)))
            hidden = entry.exchange is not None and self.context.dropped(entry.exchange)
            shown, carried = 0 if hidden else original, original * self.rides.since(entry.seq)
        age = self.rides.since(entry.seq)
        return Node(
            key,
            self.label(key),
            shown,
            original,
            carried,
            age,
            labels.state(self.context, key),
            labels.why(self.context, key),
        )

    def _of_sums(self, key: Key, sums: Sums, head: Entry, *, without_memos: bool = False) -> Node:
        age, label = self.rides.since(head.seq), self.label(key)
        state, why = labels.state(self.context, key), labels.why(self.context, key)
        tokens = sums.shown - (sums.memos if without_memos else 0)
        return Node(key, label, tokens, sums.original, sums.carried, age, state, why, sums.count, sums.pruned)

    def label(self, key: Key) -> str:
        """What the node is, in one line; not yet fit for a terminal."""
        return labels.label(self.context, key, self._summary)
