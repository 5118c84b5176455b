"""Values derived from entries and exchanges, cached until a record touches them.

Strategies walk over all results or exchanges for each request. That is fast because expensive values of an entry (its
tokens, its lock, the edit that would clear it) are computed once and then looked up.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from prunecli.context.exchange import Entry, Exchange
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from prunecli.model.notes import opens_turn

if TYPE_CHECKING:
    from prunecli.context.state import Context

MOST_KEPT = 32
"""Cache size of each kind; the least recently used value is dropped first."""

Item = TypeVar("Item", Entry, Exchange)
Value = TypeVar("Value")


class Measures(dict[Item, Value], Generic[Item, Value]):
    """A value per entry or exchange, computed on first lookup."""

    make: Callable[[Item], Value]
    pending: Iterable[int] = ()
    """Targets of the pending edits used to compute the values."""

    def __missing__(self, item: Item) -> Value:
        value = self[item] = self.make(item)
        return value

    def forget(self, items: Iterable[Any]) -> None:
        """Drop these values, so that they are computed again."""
        for item in items:
            if item in self:
                del self[item]


class Memo:
    """The caches of one branch of a session. A rewind starts new ones, a compaction clears them."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}
        self._measures: dict[Hashable, Measures[Any, Any]] = {}
        self._due: dict[int, list[int]] = {}

    def kept(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the object under this key, made on first use. Records do not change it."""
        value: Value = _newest(self._kept, key, make)
        return value

    def measured(
        self, context: "Context", pending: dict[int, Edit], key: Hashable, make: Callable[[Item], Value]
    ) -> Measures[Item, Value]:
        """Return the values under this key, with these pending edits applied."""
        measures: Measures[Item, Value] = _newest(self._measures, key, Measures)
        measures.make = make
        if measures.pending or pending:
            measures.forget(_sharing(context, {*measures.pending, *pending}))
            measures.pending = tuple(pending)
        return measures

    def touched_by(self, record: Record, context: "Context") -> list[int]:
        """Return the seqs of entries whose content or lock a record may change.

        Call it before the record is folded, and `forget` afterwards. While nothing is cached, only an undo matters.
        """
        if not (self._measures or self._kept or isinstance(record.event, PrunReverted)):
            return []
        match record.event:
            case ToolStarted():
                return []
            case RequestSent():
                return list(context.sheltered)  # protection by an undo may end here
            case UserMessage() as said:
                if not opens_turn(said):
                    return []
                return self._due.pop(context.turns + 1, [])  # protection by an undo ends here
            case AssistantMessage():
                return [*_seen_now(context), *context.sheltered]
            case ToolResult():
                return [record.seq, *([context.todo.seq] if context.todo else ())]  # a newer list unlocks it
            case PrunApplied(edits=edits):
                return [edit.seq for edit in edits]
            case Pinned(seqs=pinned):
                return list(pinned)
            case PrunReverted(requires=requires) if requires:
                self._kept.clear()
                self._measures.clear()
                return []
            case PrunReverted(seqs=reverted):
                targets = [target for seq in reverted for target in _targets(context, seq)]
                self._due.setdefault(context.turns + 2, []).extend(targets)
                return targets
            case CompactionApplied():
                self._kept.clear()
                self._measures.clear()
                return []
            case _:
                return []

    def forget(self, context: "Context", seqs: Sequence[int]) -> None:
        """Drop the values of these entries and of those that share their state."""
        if self._measures and seqs and (items := _sharing(context, seqs)):
            for measures in self._measures.values():
                measures.forget(items)


def _newest(where: dict[Hashable, Any], key: Hashable, make: Callable[[], Any]) -> Any:
    value = where[key] = where.pop(key) if key in where else make()
    if len(where) > MOST_KEPT:
        del where[next(iter(where))]
    return value


def _targets(context: "Context", seq: int) -> list[int]:
    """Return the entries that undoing a prune or restoring an entry brings back."""
    event = context.pruns[seq].event if seq in context.pruns else None
    return [edit.seq for edit in event.edits] if isinstance(event, PrunApplied) else [seq]


def _seen_now(context: "Context") -> list[int]:
    """Return the items that are no longer in progress once the model answers: the last exchange and later
    commands."""
    seen = [context.exchanges[-1].seq] if context.exchanges else []
    for item in reversed(context.items):
        if item.kind == "assistant":
            break
        if item.kind == "command":
            seen.append(item.seq)
    return seen


def _sharing(context: "Context", seqs: Iterable[int]) -> list[Entry | Exchange]:
    """Return the entries of these seqs with their exchanges, including results of assistant messages."""
    found: list[Entry | Exchange] = []
    for seq in seqs:
        if entry := context.entries.get(seq):
            found.append(entry)
            if exchange := entry.exchange:
                found.append(exchange)
                found += exchange.results if entry is exchange.head else ()
    return found
