"""Follows the log for the bill: held back and fetched content in raw tokens, and the prunes in effect."""

from collections.abc import Mapping
from typing import NamedTuple

from prunecli.context.lineage import Lineage
from prunecli.model.events import (
    AssistantMessage,
    Attached,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
    ToolResult,
    UserMessage,
)


class Sums(NamedTuple):
    """Raw tokens of a request: held back, and of these for the first time; fetched again, and of these for the first
    time."""

    held: int
    fresh: int
    again: int
    again_fresh: int


class HeldBack:
    """Sums over the held-back parts of results and over fetched content.

    `fetched`: raw tokens by the seq of the entry that brought them back. `rewound_to`: since the last request, the
    session was rewound to what followed this response, -1 for none; None without a rewind.
    """

    def __init__(self, fetched: Mapping[int, int]) -> None:
        self._lineage = Lineage()
        self._fetched = fetched
        self._held = self._again = self._fresh = self._again_fresh = 0
        self._edits: set[tuple[int, int]] = set()  # prune and target
        self._moved: set[tuple[int, int]] = set()
        self._answered = -1
        self.rewound_to: int | None = None

    @property
    def is_edited(self) -> bool:
        """Whether the edits in effect are not those of the last request."""
        return bool(self._moved)

    def sent(self) -> None:
        """Record that a request was sent."""
        self._moved.clear()
        self.rewound_to = None

    def sums(self) -> Sums:
        """Return the sums of a request that is sent now."""
        found = Sums(self._held, self._fresh, self._again, self._again_fresh)
        self._fresh = self._again_fresh = 0
        return found

    def take(self, record: Record) -> None:
        """Process a record."""
        match record.event:
            case Rewound(to_seq):
                before = self._edits ^ self._moved
                self._held = self._again = 0
                self._edits, self._answered = set(), -1
                for earlier in self._lineage.rewind(record.seq, to_seq):
                    self._fold(earlier)
                self._fresh = self._again_fresh = 0
                self._moved = self._edits ^ before
                self.rewound_to = min(
                    self._answered, self._answered if self.rewound_to is None else self.rewound_to
                )
            case (
                CompactionApplied()
                | ToolResult()
                | UserMessage()
                | AssistantMessage()
                | PrunApplied()
                | PrunReverted()
            ):
                self._lineage.append(record)
                before = (
                    set(self._edits) if isinstance(record.event, PrunApplied | PrunReverted) else self._edits
                )
                self._fold(record)
                self._moved ^= self._edits ^ before
            case _:
                pass

    def _fold(self, record: Record) -> None:
        match record.event:
            case CompactionApplied():
                self._held = self._again = 0  # the ledger counts from the boundary
            case AssistantMessage(usage=usage):
                self._answered = record.seq if usage.prompt_tokens else self._answered
            case PrunApplied(edits=edits):
                self._edits |= {(record.seq, edit.seq) for edit in edits}
            case PrunReverted(seqs=seqs):
                self._edits = {pair for pair in self._edits if not {*pair} & {*seqs}}
            case UserMessage(attached=attached):
                self._bring(record.seq, attached)
            case ToolResult() as result:
                self._bring(record.seq, result)
            case _:
                pass

    def _bring(self, seq: int, result: ToolResult | Attached | None) -> None:
        if result and result.spilled:
            self._held += result.spilled.tokens
            self._fresh += result.spilled.tokens
        fetched = self._fetched.get(seq, 0)
        self._again += fetched
        self._again_fresh += fetched
