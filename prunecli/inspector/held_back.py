"""Follows the log for the bill: held back and fetched content in raw tokens, the edits in effect, and the branch."""

from collections.abc import Mapping
from typing import NamedTuple

from prunecli.context.lineage import Lineage
from prunecli.inspector.unpruned import Asked, Branch
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
    SettingChanged,
    ToolResult,
    UserMessage,
)


class HeldSums(NamedTuple):
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
        self._parts: dict[int, tuple[int, int]] = {}
        """By entry: raw tokens held back and fetched again."""
        self._edits: frozenset[tuple[int, int]] = frozenset()  # prune and target
        self.branch = Branch()
        self._prunes: list[int] = []

    def asks(self, at: int) -> tuple[HeldSums, Asked, tuple[int, ...]]:
        """Return the sums of a request that is sent now, the request, and the prunes since the last one."""
        sums, prunes = HeldSums(self._held, self._fresh, self._again, self._again_fresh), tuple(self._prunes)
        self._fresh = self._again_fresh = 0
        self._prunes.clear()
        return sums, self.branch.asks(at, (hash(self._edits), 0)), prunes

    def summed(self, summary: CompactionApplied) -> HeldSums:
        """Return the sums of the request for a summary by the endpoint. It leaves out the entries that are kept, and
        all others were sent before."""
        held, again = _sums({seq: one for seq, one in self._parts.items() if seq < summary.tail_start})
        return HeldSums(held, 0, again, 0)

    def take(self, record: Record) -> None:
        """Process a record."""
        match record.event:
            case Rewound(to_seq):
                self._keep({})
                self._edits = frozenset()
                self.branch.clear()
                for earlier in self._lineage.rewind(record.seq, to_seq):
                    self._fold(earlier)
                self._fresh = self._again_fresh = 0
            case SettingChanged(key, value):
                self.branch.set(key, value)
            case (
                CompactionApplied()
                | ToolResult()
                | UserMessage()
                | AssistantMessage()
                | PrunApplied()
                | PrunReverted()
            ):
                self._lineage.append(record)
                self._fold(record)
                if isinstance(record.event, PrunApplied | PrunReverted):
                    self._prunes.append(record.seq)
                if isinstance(record.event, CompactionApplied):
                    self.branch.summarized((hash(self._edits), 0))
            case _:
                pass

    def _fold(self, record: Record) -> None:
        self.branch.take(record)
        match record.event:
            case CompactionApplied(head_end=head_end, tail_start=tail_start):
                parts = self._parts.items()
                self._keep({seq: one for seq, one in parts if not head_end < seq < tail_start})
                self._edits = frozenset(one for one in self._edits if not head_end < one[1] < tail_start)
            case PrunApplied(edits=edits):
                self._edits |= {(record.seq, edit.seq) for edit in edits}
            case PrunReverted(seqs=seqs):
                self._edits -= {pair for pair in self._edits if not {*pair}.isdisjoint(seqs)}
            case UserMessage(attached=attached):
                self._bring(record.seq, attached)
            case ToolResult() as result:
                self._bring(record.seq, result)
            case _:
                pass

    def _bring(self, seq: int, result: ToolResult | Attached | None) -> None:
        held = result.spilled.tokens if result and result.spilled else 0
        fetched = self._fetched.get(seq, 0)
        if held or fetched:
            self._parts[seq] = held, fetched
        self._held += held
        self._again += fetched
        self._fresh += held
        self._again_fresh += fetched

    def _keep(self, parts: dict[int, tuple[int, int]]) -> None:
        self._parts = parts
        self._held, self._again = _sums(parts)


def _sums(parts: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    return sum(one for one, _ in parts.values()), sum(one for _, one in parts.values())
