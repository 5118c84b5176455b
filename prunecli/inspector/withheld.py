"""What pruning keeps out of each request, in raw tokens, record by record."""

from collections.abc import Mapping
from typing import NamedTuple

from prunecli.context.lineage import Lineage
from prunecli.model.events import (
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
    ToolResult,
    UserMessage,
)


class Sums(NamedTuple):
    """Raw tokens of a request: withheld, of these for the first time; fetched again, of these for the first time."""

    withheld: int
    fresh: int
    again: int
    again_fresh: int


class Withheld:
    """Sums over prunes in force, held-back parts of results, and what was fetched again.

    `fetched`: raw tokens by the seq of what brought them back.
    """

    def __init__(self, fetched: Mapping[int, int]) -> None:
        self._lineage = Lineage()
        self._fetched = fetched
        self._fresh = self._again_fresh = 0
        self._clear()

    def _clear(self) -> None:
        self._saved: dict[int, dict[int, int]] = {}
        self._pruned_by: dict[int, dict[int, None]] = {}
        self._tokens = self._again = 0

    def sums(self) -> Sums:
        """The sums of a request that is sent now."""
        found = Sums(self._tokens, self._fresh, self._again, self._again_fresh)
        self._fresh = self._again_fresh = 0
        return found

    def take(self, record: Record) -> None:
        """Note a record."""
        match record.event:
            case Rewound(to_seq):
                branch = self._lineage.rewind(record.seq, to_seq)
                self._clear()
                for earlier in branch:
                    self._fold(earlier)
                self._fresh = self._again_fresh = 0
            case PrunApplied() | PrunReverted() | CompactionApplied():
                self._lineage.append(record)
                self._fold(record)
            case ToolResult(spilled=spilled) if spilled or record.seq in self._fetched:
                self._lineage.append(record)
                self._fold(record)
            case UserMessage() if record.seq in self._fetched:
                self._lineage.append(record)
                self._fold(record)
            case _:
                pass

    def _fold(self, record: Record) -> None:
        match record.event:
            case PrunApplied(edits=edits):
                targets = self._saved.setdefault(record.seq, {})
                for edit in edits:
                    place = -1 if edit.kind == "memo" else edit.seq
                    targets[place] = targets.get(place, 0) + edit.tokens_saved
                    self._pruned_by.setdefault(place, {})[record.seq] = None
                self._tokens += sum(targets.values())
            case PrunReverted(seqs=seqs):
                for seq in seqs:
                    if (gone := self._saved.pop(seq, None)) is not None:
                        self._tokens -= sum(gone.values())
                        continue
                    for prun in self._pruned_by.pop(seq, ()):
                        self._restore(seq, self._saved.get(prun, {}))
            case CompactionApplied():
                self._clear()  # the ledger counts from the boundary
            case ToolResult(spilled=spilled):
                held = spilled.tokens if spilled else 0
                self._tokens += held
                self._fresh += held
                self._came(record.seq)
            case UserMessage():
                self._came(record.seq)
            case _:
                pass

    def _came(self, seq: int) -> None:
        """Count what this entry fetched again."""
        fetched = self._fetched.get(seq, 0)
        self._again += fetched
        self._again_fresh += fetched

    def _restore(self, target: int, targets: dict[int, int]) -> None:
        """Restore a target of a prune; its memo goes with the last one."""
        self._tokens -= targets.pop(target, 0)
        if set(targets) == {-1}:
            self._tokens -= targets.pop(-1)
