"""What each request cost, and what pruning saved and cost in them: from what the endpoint reported.

Saved: tokens that were withheld from a request, at the price of reading them from the cache. Cost: tokens that
the cache held and that had to be written again in the request after a prune (or after one was taken back).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prunecli.context.lineage import Lineage
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
)
from prunecli.model.messages import Usage

Price = Callable[[str, Usage], float | None]
"""USD of a model's usage; None where a price is not known."""


@dataclass(frozen=True, slots=True)
class Paid:
    """One response. `cost` in USD, None for an unknown price. `withheld` are the tokens that pruning kept out of
    its request, `rewritten` those that were written again because of a prune."""

    seq: int
    timestamp: int
    model: str
    usage: Usage
    cost: float | None
    withheld: int = 0
    rewritten: int = 0
    summary: bool = False


@dataclass(frozen=True, slots=True)
class Pruning:
    """What pruning did to the bill in USD; None where a price is not known."""

    withheld: int
    rewritten: int
    saved: float | None
    cost: float | None

    @property
    def net(self) -> float | None:
        """What is left of the savings."""
        return None if self.saved is None or self.cost is None else self.saved - self.cost


def paid(records: Sequence[Record], price: Price, *, scale: float = 1.0, ttl_ms: int = 300_000) -> list[Paid]:
    """Every response with a usage, oldest first. `scale` is how many tokens the endpoint counts for one of the
    estimates in which prunes are recorded. Costs O(records)."""
    found: list[Paid] = []
    live = _Live()
    freed, changed, last = 0, False, None
    for record in records:
        event = record.event
        if isinstance(event, PrunApplied | PrunReverted):
            before = live.tokens
            live.take(record)
            freed, changed = freed + live.tokens - before, True
            continue
        live.take(record)
        if not isinstance(event, AssistantMessage | CompactionApplied) or not event.usage.prompt_tokens:
            continue
        summary = isinstance(event, CompactionApplied)
        withheld = max(0, round(live.tokens * scale))
        again = 0
        if last is not None and changed and _is_warm(last, record, event.model, ttl_ms):
            read = event.usage.cache_read_input_tokens or 0
            again = max(0, last.usage.prompt_tokens - read - max(0, round(freed * scale)))
            again = min(again, event.usage.cache_creation_input_tokens or 0)
        last = Paid(
            record.seq,
            record.timestamp,
            event.model,
            event.usage,
            price(event.model, event.usage),
            0 if summary else withheld,
            again,
            summary,
        )
        found.append(last)
        freed, changed = 0, False
    return found


def _is_warm(last: Paid, record: Record, model: str, ttl_ms: int) -> bool:
    return last.model == model and record.timestamp - last.timestamp <= ttl_ms


def pruning(responses: Sequence[Paid], price: Price) -> Pruning:
    """What pruning did to these responses."""
    saved = cost = 0.0
    known = True
    for one in responses:
        if one.withheld or one.rewritten:
            withheld = price(one.model, Usage(0, 0, one.withheld, 0))
            written = price(one.model, Usage(0, 0, 0, one.rewritten))
            read = price(one.model, Usage(0, 0, one.rewritten, 0))
            if withheld is None or written is None or read is None:
                known = False
            else:
                saved, cost = saved + withheld, cost + written - read
    return Pruning(
        sum(one.withheld for one in responses),
        sum(one.rewritten for one in responses),
        saved if known else None,
        cost if known else None,
    )


class _Live:
    """The raw tokens that are withheld by prunes in force, by prune and target; `tokens` is their sum."""

    def __init__(self) -> None:
        self._lineage = Lineage()
        self._saved: dict[int, dict[int, int]] = {}
        self._pruned_by: dict[int, dict[int, None]] = {}
        self.tokens = 0

    def _clear(self) -> None:
        self._saved, self._pruned_by, self.tokens = {}, {}, 0

    def take(self, record: Record) -> None:
        match record.event:
            case Rewound(to_seq):
                branch = self._lineage.rewind(record.seq, to_seq)
                self._clear()
                for earlier in branch:
                    self._fold(earlier)
            case PrunApplied() | PrunReverted() | CompactionApplied():
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
                self.tokens += sum(targets.values())
            case PrunReverted(seqs=seqs):
                for seq in seqs:
                    if (gone := self._saved.pop(seq, None)) is not None:
                        self.tokens -= sum(gone.values())
                        continue
                    for prun in self._pruned_by.pop(seq, ()):
                        self._restore(seq, self._saved.get(prun, {}))
            case CompactionApplied():
                self._clear()  # the ledger counts from the boundary on
            case _:
                pass

    def _restore(self, target: int, targets: dict[int, int]) -> None:
        """A target of a prune is back; a memo goes with the last of them."""
        self.tokens -= targets.pop(target, 0)
        if set(targets) == {-1}:
            self.tokens -= targets.pop(-1)
