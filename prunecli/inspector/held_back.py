"""Counts the content held back from results and the content fetched again, in raw tokens, record by record."""

from collections.abc import Mapping
from typing import NamedTuple

from prunecli.context.lineage import Lineage
from prunecli.model.events import Attached, CompactionApplied, Record, Rewound, ToolResult, UserMessage


class Sums(NamedTuple):
    """Raw tokens of a request: held back, and of these for the first time; fetched again, and of these for the first
    time."""

    held: int
    fresh: int
    again: int
    again_fresh: int


class HeldBack:
    """Sums over the held-back parts of results and over fetched content.

    `fetched`: raw tokens by the seq of the entry that brought them back.
    """

    def __init__(self, fetched: Mapping[int, int]) -> None:
        self._lineage = Lineage()
        self._fetched = fetched
        self._held = self._again = self._fresh = self._again_fresh = 0

    def sums(self) -> Sums:
        """Return the sums of a request that is sent now."""
        found = Sums(self._held, self._fresh, self._again, self._again_fresh)
        self._fresh = self._again_fresh = 0
        return found

    def take(self, record: Record) -> None:
        """Process a record."""
        match record.event:
            case Rewound(to_seq):
                self._held = self._again = 0
                for earlier in self._lineage.rewind(record.seq, to_seq):
                    self._fold(earlier)
                self._fresh = self._again_fresh = 0
            case CompactionApplied() | ToolResult() | UserMessage():
                self._lineage.append(record)
                self._fold(record)
            case _:
                pass

    def _fold(self, record: Record) -> None:
        if isinstance(record.event, CompactionApplied):
            self._held = self._again = 0  # the ledger counts from the boundary
            return
        result = record.event.attached if isinstance(record.event, UserMessage) else record.event
        if isinstance(result, ToolResult | Attached) and result.spilled:
            self._held += result.spilled.tokens
            self._fresh += result.spilled.tokens
        fetched = self._fetched.get(record.seq, 0)
        self._again += fetched
        self._again_fresh += fetched
