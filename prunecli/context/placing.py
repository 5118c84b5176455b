"""Where entries stand: sorted lists of them, and the items once a summary has replaced a range."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from prunecli.context.exchange import Entry, Exchange
from prunecli.model.events import CompactionApplied

if TYPE_CHECKING:
    from prunecli.context.state import Context

_Filed = TypeVar("_Filed", Entry, Exchange)


def refile(context: "Context", head: Entry) -> None:
    """Puts an exchange and its results into, or out of, what strategies see."""
    if head.seq < context.boundary:
        return
    dropped = head.exchange is not None and context.dropped(head.exchange)
    if head.exchange:
        _file(context.live_exchanges, head.exchange, present=not dropped)
    for entry in [head] if head.kind == "command" else head.exchange.results if head.exchange else []:
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


def with_summary(items: Iterable[Entry], summary: Entry, event: CompactionApplied, seq: int) -> list[Entry]:
    """The items in their order with a compacted range, and the summaries in it, replaced by its summary."""
    end, head, tail = min(event.tail_start, seq), event.head_end, event.tail_start
    left: list[Entry] = []
    for item in items:
        if head <= _place(item) < tail if item.kind == "summary" else head < item.seq < end:
            item.forget_wire()
        else:
            left.append(item)
    return sorted([*left, summary], key=lambda item: (_place(item), item.kind == "summary", item.seq))


def _place(summary: Entry) -> int:
    return summary.event.head_end if isinstance(summary.event, CompactionApplied) else summary.seq
