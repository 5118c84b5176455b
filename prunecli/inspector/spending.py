"""What each request cost, and what pruning saved and cost, from the endpoint's reports.

Each request is compared with the one that would have been sent without any prune: longer by the withheld tokens, and
with the whole previous request in the cache, if it was warm. The difference in price is the effect of pruning.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from prunecli.context.clearing import clearing_of
from prunecli.context.lineage import Lineage
from prunecli.context.prune_history import PruneStats
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    BilledReason,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
    Rewound,
)
from prunecli.model.messages import Usage

Kind: TypeAlias = Literal["answer"] | BilledReason
Price = Callable[[str, Usage], float | None]
"""The USD cost of a model's usage; None if the price is unknown."""


@dataclass(frozen=True, slots=True)
class Paid:
    """One response, or an attempt that was billed without one; `cost` in USD, None for an unknown price.

    `withheld`: tokens that pruning kept out of its request. `edited`: a prune or a revert came since the request
    before. `idle_ms`: time from the previous response to this request, None for the first one. `kind`: an answer, a
    summary, or why an attempt has no answer. `cleared`: the part of the withheld tokens that the endpoint cleared
    itself.
    """

    seq: int
    timestamp: int
    model: str
    usage: Usage
    cost: float | None
    withheld: int = 0
    edited: bool = False
    idle_ms: int | None = None
    kind: Kind = "answer"
    cleared: int = 0


@dataclass(frozen=True, slots=True)
class Pruning:
    """What pruning did to the bill in USD; None if a price is unknown.

    `cleared`: the part of the withheld tokens that the endpoint cleared itself. `saved`: the sum over requests it
    made cheaper. `cost`: the sum over requests it made dearer, because `rewritten` tokens were written to the cache
    again.
    """

    withheld: int
    cleared: int
    rewritten: int
    saved: float | None
    cost: float | None

    @property
    def net(self) -> float | None:
        """Savings less costs."""
        return None if self.saved is None or self.cost is None else self.saved - self.cost


def paid(
    records: Sequence[Record],
    price: Price,
    told: Callable[[int], int] = lambda raw: raw,
    thinking: Callable[[int], int] = lambda _: 0,
) -> list[Paid]:
    """Every response and every attempt with a usage, oldest first.

    `told` converts the raw tokens recorded by prunes into the endpoint's, `thinking` gives those of the thinking that
    edits kept out of a response's request. Costs O(records).
    """
    found: list[Paid] = []
    live, edited = _Live(), False
    sent: tuple[int, int, bool] | None = None
    last: int | None = None
    cleared = 0
    for record in records:
        live.take(record)
        event = record.event
        edited = edited or isinstance(event, PrunApplied | PrunReverted)
        if isinstance(event, RequestSent):
            sent, edited = (live.tokens, record.timestamp, edited), False
        if not isinstance(event, AssistantMessage | AttemptBilled | CompactionApplied):
            continue
        if not event.usage.prompt_tokens:
            continue
        withheld, at, changed = sent or (live.tokens, record.timestamp, edited)
        if sent is None:
            edited = False
        kind = _kind(event)
        sent = (
            (withheld, record.timestamp, False) if kind == "cut" else None
        )  # the same request is sent once more
        if isinstance(event, AssistantMessage):
            before, cleared = cleared, clearing_of(event.applied_edits).tokens
            changed = changed or cleared != before
        elif isinstance(event, CompactionApplied):
            cleared = 0
        found.append(
            Paid(
                record.seq,
                record.timestamp,
                event.model,
                event.usage,
                price(event.model, event.usage),
                0 if kind == "summary" else max(0, told(withheld)) + thinking(record.seq) + cleared,
                changed,
                None if last is None else max(0, at - last),
                kind,
                cleared,
            )
        )
        last = record.timestamp
    return found


def _kind(event: AssistantMessage | AttemptBilled | CompactionApplied) -> Kind:
    match event:
        case AttemptBilled(reason=reason):
            return reason
        case CompactionApplied():
            return "summary"
        case AssistantMessage():
            return "answer"


def pruning(responses: Iterable[Paid], history: Iterable[PruneStats], price: Price, ttl_ms: int) -> Pruning:
    """What pruning did to the cost of these responses.

    `history`: the prunes; `ttl_ms`: the cache lifetime.
    """
    known, withheld, cleared = True, 0, 0
    saved = cost = 0.0
    before: Paid | None = None
    for one in responses:
        if one.withheld or one.edited:
            with_all = price(one.model, _unpruned(one, before, ttl_ms))
            sent = price(one.model, _prompt(one.usage))
            known = known and with_all is not None and sent is not None
            change = (with_all or 0.0) - (sent or 0.0)
            saved, cost = saved + max(0.0, change), cost + max(0.0, -change)
            withheld, cleared = withheld + one.withheld, cleared + one.cleared
        before = one

    def usd(model: str, usage: Usage) -> float:
        return price(model, usage) or 0.0

    rewritten = sum(row.cache_cost(usd, ttl_ms)[0] for row in history)
    return Pruning(withheld, cleared, rewritten, saved if known else None, cost if known else None)


def _prompt(usage: Usage) -> Usage:
    return Usage(usage.input_tokens, 0, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)


def _unpruned(one: Paid, before: Paid | None, ttl_ms: int) -> Usage:
    """The prompt of a request as it would have been reported without prunes.

    Without a prune since the last request, the cached part includes the withheld tokens. After a prune, all of the
    last request would have been cached, if anything was. An endpoint that reports no cache has none.
    """
    usage, read = one.usage, one.usage.cache_read_input_tokens
    if read is None:
        return Usage(usage.input_tokens + one.withheld)
    whole = usage.prompt_tokens + one.withheld
    warm = before is not None and before.model == one.model and (one.idle_ms or 0) <= ttl_ms
    if one.edited and warm and before is not None:
        there = before.usage.prompt_tokens + before.withheld
    else:
        there = read + one.withheld if read else 0
    there = min(there, whole - usage.input_tokens)
    return Usage(usage.input_tokens, 0, there, whole - usage.input_tokens - there)


class _Live:
    """The raw tokens withheld by prunes in force, by prune and target; `tokens` is their sum."""

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
                self._clear()  # the ledger counts from the boundary
            case _:
                pass

    def _restore(self, target: int, targets: dict[int, int]) -> None:
        """Restore a target of a prune; its memo goes with the last one."""
        self.tokens -= targets.pop(target, 0)
        if set(targets) == {-1}:
            self.tokens -= targets.pop(-1)
