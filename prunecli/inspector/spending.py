"""What each request cost, and what pruning saved and cost, from the endpoint's reports.

Each request is compared with the one that would have been sent without any prune: longer by the withheld tokens, and
with the whole previous request in the cache, if it was warm. The difference in price is the effect of pruning.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from prunecli.context.clearing import clearing_of
from prunecli.context.prune_history import PruneStats
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    RequestSent,
)
from prunecli.model.messages import Usage

Price = Callable[[str, Usage], float | None]
"""The USD cost of a model's usage; None if the price is unknown."""


@dataclass(frozen=True, slots=True)
class Paid:
    """One response; `cost` in USD, None for an unknown price.

    `withheld`: tokens that pruning kept out of its request. `edited`: a prune or a revert came since the request
    before. `idle_ms`: time from the previous response to this request, None for the first one. `cleared`: the part of
    the withheld tokens that the endpoint cleared itself.
    """

    seq: int
    timestamp: int
    model: str
    usage: Usage
    cost: float | None
    withheld: int = 0
    edited: bool = False
    idle_ms: int | None = None
    summary: bool = False
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


def paid(records: Sequence[Record], price: Price, withheld: Callable[[int], int] = lambda _: 0) -> list[Paid]:
    """Every response with a usage, oldest first.

    `withheld` gives the tokens that prunes kept out of a response's request. Costs O(records).
    """
    found: list[Paid] = []
    edited = False
    sent: tuple[int, bool] | None = None
    last: int | None = None
    cleared = 0
    for record in records:
        event = record.event
        edited = edited or isinstance(event, PrunApplied | PrunReverted)
        if isinstance(event, RequestSent):
            sent, edited = (record.timestamp, edited), False
        if not isinstance(event, AssistantMessage | CompactionApplied) or not event.usage.prompt_tokens:
            continue
        at, changed = sent or (record.timestamp, edited)
        if sent is None:
            edited = False
        sent = None
        summary = isinstance(event, CompactionApplied)
        if isinstance(event, AssistantMessage):
            before, cleared = cleared, clearing_of(event.applied_edits).tokens
            changed = changed or cleared != before
        else:
            cleared = 0
        found.append(
            Paid(
                record.seq,
                record.timestamp,
                event.model,
                event.usage,
                price(event.model, event.usage),
                0 if summary else max(0, withheld(record.seq)) + cleared,
                changed,
                None if last is None else max(0, at - last),
                summary,
                cleared,
            )
        )
        last = record.timestamp
    return found


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
