"""An index of results or exchanges for a strategy: numbers for each, sums of them, and the edits made so far.

What a strategy would find by walking over everything is a sum or a search here, in O(log n); the edits that it
proposes are made once for each target and kept until the target is touched.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.sums import Sums
from prunecli.context.view import View
from prunecli.model.edits import Edit

T = TypeVar("T", Entry, Exchange)


class Index(Generic[T]):
    """Slots in log order, one for each item since the compaction boundary, edited or not.

    `measure` gives an item's numbers, none negative: one for each column, all 0 for what does not count. It may
    depend on the item, its edits and locks, the options and the counter, but on nothing else: it is asked again
    only when the item was touched.
    """

    def __init__(self, columns: int, measure: Callable[[View, T], Sequence[int]]) -> None:
        self._measure: Callable[[View, T], Sequence[int]] = measure
        self._columns = tuple(Sums() for _ in range(columns))
        self._items: list[T] = []
        self._seqs: list[int] = []
        self._made: tuple[dict[int, Edit | None], ...] = tuple({} for _ in range(columns))
        self._runs: dict[int, _Run] = {}

    def _set(self, view: View, item: T) -> int:
        """Measures an item, new or touched; its slot."""
        values = self._measure(view, item)
        seqs = self._seqs
        if not seqs or item.seq > seqs[-1]:
            slot = len(seqs)
            seqs.append(item.seq)
            self._items.append(item)
            for column, value in zip(self._columns, values, strict=True):
                column.append(value)
            return slot
        slot = bisect_left(seqs, item.seq)
        for column, value in zip(self._columns, values, strict=True):
            column[slot] = value
        for made in self._made:
            made.pop(slot, None)
        for key in [key for key, run in self._runs.items() if slot < run.stop]:
            del self._runs[key]
        return slot

    def __len__(self) -> int:
        return len(self._seqs)

    def before(self, seq: int) -> int:
        """How many slots stand before a seq."""
        return bisect_left(self._seqs, seq)

    def seq(self, slot: int) -> int:
        """The seq of the item in a slot."""
        return self._seqs[slot]

    def value(self, column: int, seq: int) -> int:
        """An item's number in a column; 0 for what has no slot."""
        slot = bisect_left(self._seqs, seq)
        return self._columns[column][slot] if slot < len(self._seqs) and self._seqs[slot] == seq else 0

    def sum(self, column: int, start: int, stop: int) -> int:
        """A column's sum from slot `start` to before slot `stop`."""
        return self._columns[column].between(start, stop)

    def total(self, column: int) -> int:
        """A column's sum over all slots."""
        return self._columns[column].before(len(self._seqs))

    def reaching(self, column: int, stop: int, amount: int) -> int:
        """The last slot from which on a column sums to `amount` (above 0) before slot `stop`; -1 for none."""
        return self._columns[column].reaching(stop, amount)

    def chosen(self, column: int, start: int, stop: int) -> Iterator[tuple[int, T]]:
        """The slots from `start` to before `stop` whose number in the column is not 0, with their items."""
        column_of, slot = self._columns[column], start
        while slot < stop:
            if not column_of[slot]:  # where most are chosen the next one is mostly the next
                slot = column_of.following(slot)
                continue
            yield slot, self._items[slot]
            slot += 1

    def edits(self, column: int, start: int, stop: int, make: Callable[[T], Edit | None]) -> list[Edit]:
        """The edits of the chosen items, oldest first; not to be changed by the caller.

        `make` is asked once for each item until it is touched. Where it gives None the item is no longer chosen.
        It may depend on what `measure` may.
        """
        run, made = self._runs.get(column), self._made[column]
        if run is None or run.start != start or run.stop > stop:
            run = self._runs[column] = _Run(start)
        for slot, item in self.chosen(column, run.stop, stop):
            if slot not in made:
                made[slot] = make(item)
            edit = made[slot]
            if edit is None:
                self._columns[column][slot] = 0
            else:
                run.edits.append(edit)
        run.stop = max(run.stop, stop)
        return run.edits


class _Run:
    """The edits of the chosen items from one slot to before another."""

    __slots__ = ("edits", "start", "stop")

    def __init__(self, start: int) -> None:
        self.start = self.stop = start
        self.edits: list[Edit] = []


class ResultIndex(Index[Entry]):
    """An index of tool results and command outputs."""

    def update(self, view: View, touched: Sequence[Entry]) -> None:
        """Follows the fold."""
        for entry in touched:
            if entry.prunable:
                self._set(view, entry)


class ExchangeIndex(Index[Exchange]):
    """An index of exchanges."""

    def update(self, view: View, touched: Sequence[Entry]) -> None:
        """Follows the fold."""
        for entry in touched:
            if entry.kind == "assistant" and entry.exchange:
                self._set(view, entry.exchange)
