"""What each request cost, and what pruning saved and cost in them: from what the endpoint reported.

Saved: tokens that were withheld from a request, at the price of reading them from the cache. Cost: what the
tracker says of each prune, and of each that was taken back: tokens of the cache that had to be written again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from prunecli.context.lineage import Lineage
from prunecli.context.tracker import Tracked
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
    its request."""

    seq: int
    timestamp: int
    model: str
    usage: Usage
    cost: float | None
    withheld: int = 0
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


def paid(records: Sequence[Record], price: Price, *, scale: float = 1.0) -> list[Paid]:
    """Every response with a usage, oldest first. `scale` is how many tokens the endpoint counts for one of the
    estimates in which prunes are recorded. Costs O(records)."""
    found: list[Paid] = []
    live = _Live()
    for record in records:
        live.take(record)
        event = record.event
        if not isinstance(event, AssistantMessage | CompactionApplied) or not event.usage.prompt_tokens:
            continue
        summary = isinstance(event, CompactionApplied)
        withheld = 0 if summary else max(0, round(live.tokens * scale))
        cost = price(event.model, event.usage)
        found.append(Paid(record.seq, record.timestamp, event.model, event.usage, cost, withheld, summary))
    return found


def pruning(responses: Iterable[Paid], tracked: Iterable[Tracked], price: Price, ttl_ms: int) -> Pruning:
    """What pruning did to these responses. `tracked` are the prunes, `ttl_ms` how long the cache lives."""
    known = True

    def usd(model: str, usage: Usage) -> float:
        nonlocal known
        found = price(model, usage)
        known = known and found is not None
        return found or 0.0

    withheld = [(one.model, one.withheld) for one in responses if one.withheld]
    saved = sum(usd(model, Usage(0, 0, tokens, 0)) for model, tokens in withheld)
    breaks = [row.cache_cost(usd, ttl_ms) for row in tracked]
    cost = sum(dollars for _, dollars in breaks)
    return Pruning(
        sum(tokens for _, tokens in withheld),
        sum(tokens for tokens, _ in breaks),
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
