"""The carry cost of entries: tokens times the requests that included them.

Every request made while an entry is in the context carries it; under an edit, it carries the shorter text.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from prunecli.context.clearing import clearing_of
from prunecli.context.exchange import Entry
from prunecli.context.token_counts import TokenCounts
from prunecli.context.tokens import NOTHING, Amount, total
from prunecli.model.edits import Edit
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
)


class _Change(NamedTuple):
    """A change at record `at`: an edit of `target` (`edit`), or its removal.

    A removal reverts the edit of one prune, or of all prunes (`prun` None).
    """

    at: int
    target: int
    prun: int | None
    edit: Edit | None


class Rides:
    """The carry cost computed from a log; `take` costs O(edits) per record.

    A response without a recorded request (imported sessions) counts as its own request.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.sent: list[int] = []
        self._open = False
        self._cleared: list[int] = []
        self._changes: dict[int, list[_Change]] = {}
        self._targets: dict[int, tuple[int, ...]] = {}
        for record in records:
            self.take(record)

    def take(self, record: Record) -> None:
        """Add this record."""
        match record.event:
            case RequestSent():
                self.sent.append(record.seq)
                self._open = True
            case AssistantMessage(applied_edits=applied):
                if not self._open:
                    self.sent.append(record.seq)
                self._open = False
                if cleared := clearing_of(applied).tokens:
                    self._cleared.append(cleared)
            case CompactionApplied():
                self._cleared.clear()  # the cleared content is no longer there
            case PrunApplied(edits=edits):
                self._targets[record.seq] = tuple(edit.seq for edit in edits if edit.kind != "memo")
                for edit in edits:
                    if edit.kind in ("drop", "clear", "trim", "repair"):
                        self._note(edit.seq, _Change(record.seq, edit.seq, record.seq, edit))
            case PrunReverted(seqs=seqs):
                for seq in seqs:
                    if seq in self._targets:
                        self._gone(seq, record.seq)
                    else:
                        self._note(seq, _Change(record.seq, seq, None, None))
            case Rewound(to_seq=to_seq):
                self._cleared.clear()
                for prun in [prun for prun in self._targets if prun > to_seq]:
                    self._gone(prun, record.seq)
            case _:
                pass

    def _note(self, target: int, change: _Change) -> None:
        self._changes.setdefault(target, []).append(change)

    def _gone(self, prun: int, at: int) -> None:
        for target in self._targets.pop(prun):
            self._note(target, _Change(at, target, prun, None))

    def spared(self, results: Iterable[tuple[int, int]]) -> dict[int, int]:
        """Return the tokens that requests did not carry because the endpoint cleared them, by result.

        `results` are (seq, tokens), oldest first, which is the order in which the endpoint clears.
        """
        found: dict[int, int] = {}
        left = [each for each in self._cleared if each > 0]
        for seq, tokens in results:
            if not left:
                break
            found[seq] = sum(min(each, tokens) for each in left)
            left = [each - tokens for each in left if each > tokens]
        return found

    @property
    def requests(self) -> int:
        """The number of requests so far."""
        return len(self.sent)

    def since(self, seq: int) -> int:
        """Return the number of requests after this record."""
        return len(self.sent) - bisect_right(self.sent, seq)

    def carried(self, entry: Entry, counts: TokenCounts, flips: Sequence[int] = ()) -> Amount:
        """Return the tokens of an entry, each times the requests that included it.

        `flips`: the records after which an answer's thinking was hidden and shown again, in turn.
        """
        whole = self._carried(entry, counts)
        if not flips:
            return whole
        spans = zip(flips[::2], [*flips[1::2], None], strict=False)
        unseen = sum(self.since(at) if end is None else self._between(at, end) for at, end in spans)
        return whole.minus(counts.thinking(entry).times(unseen))

    def _carried(self, entry: Entry, counts: TokenCounts) -> Amount:
        original = counts.amount(entry)
        own = [change for change in self._changes.get(entry.seq, ()) if _counts(change, entry)]
        home = entry.exchange.seq if entry.exchange else entry.seq
        if home != entry.seq and home in self._changes:
            drops = (one for one in self._changes[home] if _drops(one) and one.at > home)
            own = sorted([*own, *drops], key=lambda change: change.at)
        if not own:
            return original.times(self.since(entry.seq))
        found, start, shown = list[Amount](), entry.seq, original
        stack: list[_Change] = []
        for change in own:
            found.append(shown.times(self._between(start, change.at)))
            if change.edit is not None:
                stack.append(change)
            else:
                stack = [one for one in stack if not _takes_back(change, one)]
            start, shown = max(start, change.at), _shown(counts, entry, stack)
        return total((*found, shown.times(self.since(start))))

    def _between(self, start: int, end: int) -> int:
        return max(0, bisect_left(self.sent, end) - bisect_right(self.sent, start))


def _counts(change: _Change, entry: Entry) -> bool:
    """Return whether the fold also applies this change: the entry exists and accepts its kind."""
    return change.at > entry.seq and (change.edit is None or entry.takes(change.edit.kind))


def _drops(change: _Change) -> bool:
    return change.edit is None or change.edit.kind == "drop"


def _takes_back(change: _Change, one: _Change) -> bool:
    return change.target == one.target and change.prun in (None, one.prun)


def _shown(counts: TokenCounts, entry: Entry, stack: list[_Change]) -> Amount:
    """Return the tokens of an entry under these edits: 0 if dropped, otherwise those of the newest text."""
    edits = [change.edit for change in stack if change.edit]
    if any(edit.kind == "drop" for edit in edits):
        return NOTHING
    return counts.amount(entry, edits[-1] if edits else None)
