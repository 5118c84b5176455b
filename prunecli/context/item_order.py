"""How parts of the fold read the context, and the order of its entries."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeVar

from prunecli.context.counted import Item
from prunecli.context.counting import TokenCounts
from prunecli.context.exchange import Entry, Exchange
from prunecli.context.wire import Wire
from prunecli.model.edits import Edit
from prunecli.model.events import CompactionApplied, Record
from prunecli.model.requests import Preamble

if TYPE_CHECKING:
    from prunecli.context.cache import Cache


class Fold(Protocol):
    """A working context: its entries, their current form, and the last answer from the endpoint."""

    entries: dict[int, Entry]
    items: list[Entry]
    live_exchanges: list[Exchange]
    live_results: list[Entry]
    trimmed_results: list[Entry]
    pruns: dict[int, Record]
    boundary: int
    counts: TokenCounts
    preamble: Preamble
    last_response: int | None
    last_model: str
    requested: str
    wire: Wire
    cache: "Cache"
    caches: bool

    def dropped(self, exchange: Exchange) -> bool:
        """Return whether the exchange is currently left out."""

    def text_edit(self, seq: int) -> Edit | None:
        """Return the clear, trim or repair that currently replaces this entry's text."""

    def edits_of(self, seq: int) -> Sequence[tuple[int, Edit]]:
        """Return all live edits of a target, oldest first, each with the seq of its PrunApplied."""

    def in_force(self, prun: int, edit: Edit) -> bool:
        """Return whether this edit of that PrunApplied is still in effect."""

    def memos_at(self, exchange: Exchange) -> Sequence[Edit]:
        """Return the memos that currently precede this exchange."""

    def is_shown(self, seq: int) -> bool:
        """Return whether a user message, assistant message or summary has its place among `items`."""

    def position(self, seq: int) -> int:
        """Return the index of a shown entry among `items`."""


NOTHING_PLANNED: Mapping[int, Item] = MappingProxyType({})
_Filed = TypeVar("_Filed", Entry, Exchange)


def refile(context: "Fold", head: Entry) -> None:
    """Add an exchange and its results to what strategies see, or remove them."""
    if head.seq < context.boundary:
        return
    dropped = head.exchange is not None and context.dropped(head.exchange)
    if head.exchange:
        _file(context.live_exchanges, head.exchange, present=not dropped)
    for entry in [head] if head.prunable else head.exchange.results if head.exchange else []:
        edit = context.text_edit(entry.seq)
        trimmed = edit is not None and edit.kind == "trim"
        _file(context.live_results, entry, present=not dropped and edit is None)
        _file(context.trimmed_results, entry, present=not dropped and trimmed)


def _file(where: list[_Filed], what: _Filed, *, present: bool) -> None:
    at = bisect_left(where, what.seq, key=lambda other: other.seq)
    there = at < len(where) and where[at] is what
    if present and not there:
        where.insert(at, what)
    elif there and not present:
        del where[at]


def is_edited_since(context: "Fold", head: Entry) -> bool:
    """Return whether an item carries an edit that was made after the newest summary."""
    parts = head.exchange.entries if head.exchange else [head]
    return any(prun > context.boundary for part in parts for prun, _ in context.edits_of(part.seq))


def known(context: "Fold", planned: Mapping[int, Item] = NOTHING_PLANNED) -> int:
    """Return the number of leading items that the last request showed as they are now, or as they are planned.

    The endpoint has these in its cache while it is warm.
    """
    items, changed = context.counts.items, context.counts.since_sent
    found = [
        seq
        for seq, then in changed.items()
        if seq not in planned and (now := items.get(seq)) is not None and not now.is_same(then)
    ]
    found += [seq for seq, item in planned.items() if not item.is_same(changed.get(seq, items.get(seq)))]
    return min([context.position(seq) for seq in found if context.is_shown(seq)], default=len(context.items))


def group_of(context: "Fold", seq: int) -> int:
    """Return the index of the first message that shows a part of this entry or of a later one."""
    entry = context.entries[seq]
    head = entry.exchange.seq if entry.exchange else seq
    return context.wire.group_at(context.position(head)) if context.is_shown(head) else 0


def in_order(items: Iterable[Entry]) -> list[Entry]:
    """Return the items in the order in which they are sent: a summary stands at the place of its range."""
    return sorted(items, key=lambda item: (place(item), item.kind == "summary", item.seq))


def place(item: Entry) -> int:
    """Return the sort key of an item; a summary sorts as the last entry before its range."""
    return item.event.head_end if isinstance(item.event, CompactionApplied) else item.seq


def covers(event: CompactionApplied, item: Entry) -> bool:
    if item.kind == "summary":
        return event.head_end <= place(item) < event.tail_start
    return event.head_end < item.seq < event.tail_start


def words_left(event: CompactionApplied, summaries: Iterable[Entry]) -> list[Entry]:
    """Return the summaries with user messages that no later compaction has replaced."""
    return [summary for summary in summaries if not event.head_end < summary.seq < event.tail_start]


def replaced(summaries: Iterable[Entry], items: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the summaries that are neither among these items nor merged into one of them."""
    known = {one.seq for item in items for one in (item, *item.beside)}
    return tuple(summary for summary in summaries if summary.seq not in known)


def words_behind(items: Sequence[Entry], summaries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Map each item to the summaries whose user messages follow it. The item is the last one before their record."""
    found: dict[int, list[Entry]] = {}
    for summary in summaries:
        before = (item for item in reversed(items) if item is summary or place(item) < summary.seq)
        if host := next(before, None):
            found.setdefault(host.seq, []).append(summary)
    return found
