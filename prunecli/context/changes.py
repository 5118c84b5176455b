"""What each record may have changed for strategies, in order, and the indexes that follow it.

An index is asked for through the view and then brought up to date with the entries touched since it was asked
last, so that a request costs O(new entries) however long the session is.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from prunecli.context.exchange import Entry
from prunecli.model.events import (
    AssistantMessage,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    ToolResult,
    UserMessage,
)

if TYPE_CHECKING:
    from prunecli.context.state import Context
    from prunecli.context.view import View

MOST_KEPT = 16
"""So many indexes are kept; the one that was not asked for the longest goes first."""


class Follower(Protocol):
    """An index that follows the fold."""

    def update(self, view: "View", touched: Sequence[Entry]) -> None:
        """These entries are new, or their edits or what locks them may have changed; in log order.

        With a result comes its assistant message, with an assistant message that was touched itself all its
        results. What is not among them is as it was.
        """
        ...


F = TypeVar("F", bound=Follower)


@dataclass(slots=True)
class _Kept:
    """A follower, the compaction boundary it was made for, and how far it has come. `overlay`: seqs it saw with
    pending edits."""

    follower: Any
    boundary: int
    read: int = 0
    overlay: tuple[int, ...] = ()


class Changes:
    """The feed of one fold. A rewind begins a new one; a compaction makes followers anew."""

    def __init__(self) -> None:
        self._seqs: list[int] = []
        self._due: dict[int, list[int]] = {}
        self._kept: dict[Hashable, _Kept] = {}

    def note(self, record: Record, context: "Context") -> None:
        """Notes what a record touches. To be called before the record is folded."""
        seqs = self._seqs
        match record.event:
            case UserMessage():
                seqs.append(record.seq)
                seqs += self._due.pop(context.turns + 1, ())  # shelter by an undo ends here
            case AssistantMessage():
                seqs += _seen_now(context)
                seqs.append(record.seq)
            case ToolResult():
                seqs.append(record.seq)
            case PrunApplied(edits=edits):
                seqs += (edit.seq for edit in edits)
            case Pinned(seqs=pinned):
                seqs += pinned
            case PrunReverted(seqs=reverted):
                for seq in reverted:
                    prun = context.pruns.get(seq)
                    event = prun.event if prun else None
                    targets = [edit.seq for edit in event.edits] if isinstance(event, PrunApplied) else [seq]
                    seqs += targets
                    self._due.setdefault(context.turns + 2, []).extend(targets)
            case _:
                pass

    def follow(self, view: "View", key: Hashable, make: Callable[[], F]) -> F:
        """The follower under this key, made now if there is none, as of the view with its pending edits."""
        context = view.context
        kept = self._kept.pop(key, None)
        if kept is None or kept.boundary != context.boundary:
            kept = _Kept(make(), context.boundary)
            touched = _shown(context)
        else:
            touched = _expanded(context, [*self._seqs[kept.read :], *kept.overlay, *view.pending])
        self._kept[key] = kept
        if len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        kept.read, kept.overlay = len(self._seqs), tuple(view.pending)
        if touched:
            kept.follower.update(view, [entry for entry in touched if _home(entry) > context.boundary])
        follower: F = kept.follower
        return follower


def _home(entry: Entry) -> int:
    """The seq that decides on which side of the compaction boundary an entry stands."""
    return entry.exchange.seq if entry.exchange else entry.seq


def _seen_now(context: "Context") -> list[int]:
    """What an answer of the model takes out of progress: the last exchange, and commands run since."""
    seen = [context.exchanges[-1].seq] if context.exchanges else []
    for item in reversed(context.items):
        if item.kind == "assistant":
            break
        if item.kind == "command":
            seen.append(item.seq)
    return seen


def _shown(context: "Context") -> list[Entry]:
    """All entries but those that a compaction took out, which are the most in a long session, in log order."""
    found: list[Entry] = []
    for item in context.items:
        if item.kind != "summary":
            found += item.exchange.entries if item.exchange else (item,)
    return sorted(found, key=lambda entry: entry.seq)


def _expanded(context: "Context", seqs: Iterable[int]) -> list[Entry]:
    """The entries of these seqs with those that share their state, each once, in log order."""
    found: dict[int, Entry] = {}
    for seq in seqs:
        entry = context.entries.get(seq)
        if entry is None or entry.kind == "summary":
            continue
        if entry.exchange is None:
            found[seq] = entry
        elif entry.kind == "assistant":
            found.update((part.seq, part) for part in entry.exchange.entries)
        else:
            found[seq] = entry
            found[entry.exchange.seq] = entry.exchange.head
    return [found[seq] for seq in sorted(found)]
