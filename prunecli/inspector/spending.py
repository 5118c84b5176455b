"""The cost of each request, and the savings and cost of pruning, from the endpoint's reports.

Each request is compared with the one that would have been sent without any prune: longer by the withheld tokens, and
with the whole previous request in the cache, if it was warm. The difference in price is the effect of pruning.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from prunecli.context.clearing import clearing_of
from prunecli.context.prune_history import Fetch, PruneStats
from prunecli.context.state import Context
from prunecli.inspector.held_back import HeldBack, Sums
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    BilledReason,
    CompactionApplied,
    Record,
    RequestSent,
)
from prunecli.model.messages import Json, Usage

Kind: TypeAlias = Literal["answer"] | BilledReason
Price = Callable[[str, Usage], float | None]
"""The USD cost of a model's usage; None if the price is unknown."""


@dataclass(frozen=True, slots=True)
class Paid:
    """One response, or an attempt that was billed without one; `cost` in USD, None for an unknown price.

    `withheld`: tokens that pruning kept out of its request, including those of results that were sent in part.
    `edited`: other edits are in effect than in the previous request. `kept`: the tokens that a rewind since then
    left, with those withheld, None without a rewind. `idle_ms`: time from the previous response to this request, None
    for the first one. `kind`: an answer, a summary, or the reason why an attempt has no answer.
    `cleared`: the part of the withheld tokens that the endpoint cleared itself. `fresh`: the part that this request
    would have sent for the first time. `again`: tokens of its prompt that were fetched because they had been
    withheld; `again_fresh`: those for the first time. `extra`: the response did nothing but fetch such tokens.
    `is_partial`: it broke off, so its output is an estimate.
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
    extra: bool = False
    fresh: int = 0
    again: int = 0
    again_fresh: int = 0
    is_partial: bool = False
    kept: int | None = None


@dataclass(frozen=True, slots=True)
class Pruning:
    """The effect of pruning on the bill in USD; None if a price is unknown.

    `cleared`: the part of the withheld tokens that the endpoint cleared itself. `saved`: the sum over requests that
    became cheaper. `cost`: the sum over requests that became more expensive, because `rewritten` tokens were written
    to the cache again. `regret`: the cost of fetching withheld content again: requests for nothing else, and sending
    it.
    """

    withheld: int
    cleared: int
    rewritten: int
    saved: float | None
    cost: float | None
    regret: float | None = None

    @property
    def net(self) -> float | None:
        """Savings minus costs, for the requests as they were."""
        return None if self.saved is None or self.cost is None else self.saved - self.cost

    @property
    def balance(self) -> float | None:
        """Savings minus costs and regret."""
        return None if self.net is None or self.regret is None else self.net - self.regret

    def to_json(self) -> dict[str, Json]:
        """Return the balance for the ledger, in USD; None for figures without a known price."""
        figures = {"saved_usd": self.saved, "paid_usd": self.cost, "regret_usd": self.regret}
        return {
            key: None if usd is None else round(usd, 6)
            for key, usd in {**figures, "net_usd": self.balance}.items()
        }


def paid(
    records: Sequence[Record],
    price: Price,
    withheld: Callable[[int], int] = lambda _: 0,
    told: Callable[[int, int], int] = lambda raw, _: raw,
    fetches: Sequence[Fetch] = (),
) -> list[Paid]:
    """Return every response and every attempt with a usage, oldest first.

    `withheld` returns the tokens that prunes kept out of a response's request. `told` converts raw tokens of results
    to those of a response's model. `fetches` are the results that were fetched again. Costs O(records).
    """
    found, extra, rows = list[Paid](), _only_fetching(fetches), dict[int, Paid]()
    live, cleared = HeldBack({one.seq: one.raw for one in fetches}), 0
    sent: _Sent | None = None
    last: int | None = None
    for record in records:
        live.take(record)
        event = record.event
        if isinstance(event, RequestSent):
            sent = _sent(live, record, rows)
        if not isinstance(event, AssistantMessage | AttemptBilled | CompactionApplied):
            continue
        if not event.usage.prompt_tokens:
            continue
        if (kind := _kind(event)) == "task":  # not a request of this session
            found.append(_of_task(record, event, price))
            continue
        sums, at, changed, kept = sent or _sent(live, record, rows)
        seen = sums._replace(fresh=0, again_fresh=0)
        sent = _Sent(seen, record.timestamp) if kind == "cut" else None  # the same request is sent again
        if isinstance(event, AssistantMessage):
            before, cleared = cleared, clearing_of(event.applied_edits).tokens
            changed = changed or cleared != before
        elif isinstance(event, CompactionApplied):
            cleared = 0
        own = kind != "summary"
        held, fresh, again, again_fresh = (told(raw, record.seq) * own for raw in sums)
        found.append(
            Paid(
                record.seq,
                record.timestamp,
                event.model,
                event.usage,
                price(event.model, event.usage),
                own * (max(0, withheld(record.seq)) + cleared) + held,
                changed,
                None if last is None else max(0, at - last),
                kind,
                cleared,
                record.seq in extra,
                fresh,
                again,
                again_fresh,
                kept=kept,
                is_partial=kind in ("cut", "stopped") or getattr(event, "stop_reason", "") == "interrupted",
            )
        )
        last, rows[record.seq] = record.timestamp, found[-1]
    return found


class _Sent(NamedTuple):
    """A request: its sums, its time, and `Paid.edited` and `Paid.kept` of its response."""

    sums: Sums
    at: int
    edited: bool = False
    kept: int | None = None


def _sent(live: HeldBack, record: Record, rows: Mapping[int, Paid]) -> _Sent:
    kept = None
    if live.rewound_to is not None:
        one = rows.get(live.rewound_to)
        kept = one.usage.prompt_tokens + one.withheld + one.usage.output_tokens if one else 0
    request = _Sent(live.sums(), record.timestamp, live.is_edited, kept)
    live.sent()
    return request


def _of_task(
    record: Record, event: AssistantMessage | AttemptBilled | CompactionApplied, price: Price
) -> Paid:
    cost = price(event.model, event.usage)
    return Paid(record.seq, record.timestamp, event.model, event.usage, cost, kind="task")


def _kind(event: AssistantMessage | AttemptBilled | CompactionApplied) -> Kind:
    match event:
        case AttemptBilled(reason=reason):
            return reason
        case CompactionApplied():
            return "summary"
        case AssistantMessage():
            return "answer"


class Effect(NamedTuple):
    """The effect of pruning on the cost of one response, in USD: saved, paid, and paid for fetching content again."""

    saved: float = 0.0
    cost: float = 0.0
    regret: float = 0.0

    @property
    def balance(self) -> float:
        """Savings minus costs and regret."""
        return self.saved - self.cost - self.regret


def effects(responses: Iterable[Paid], price: Price, ttl_ms: int) -> Iterator[Effect | None]:
    """Yield the effect of pruning on the cost of each response; None if a price is unknown. `ttl_ms`: the cache
    lifetime."""
    before: Paid | None = None
    for one in responses:
        if one.kind == "task":
            yield Effect()
            continue
        yield _effect(one, before, price, ttl_ms)
        before = one


def _effect(one: Paid, before: Paid | None, price: Price, ttl_ms: int) -> Effect | None:
    saved = cost = regret = 0.0
    known = True

    def usd(usage: Usage) -> float:
        nonlocal known
        found = price(one.model, usage)
        known = known and found is not None
        return found or 0.0

    sent = _prompt(one.usage)
    if one.withheld or one.edited:
        change = usd(_unpruned(one, before, ttl_ms)) - usd(sent)
        saved, cost = max(0.0, change), max(0.0, -change)
    if one.again:
        regret += usd(sent) - usd(_without_fetched(one))
    if one.extra:
        regret += usd(Usage(0, one.usage.output_tokens, one.usage.prompt_tokens))
    return Effect(saved, cost, regret) if known else None


def pruning(responses: Sequence[Paid], history: Iterable[PruneStats], price: Price, ttl_ms: int) -> Pruning:
    """Return the effect of pruning on the cost of these responses.

    `history`: the prunes; `ttl_ms`: the cache lifetime.
    """
    own = [one for one in responses if one.kind != "task"]
    withheld, cleared = sum(one.withheld for one in own), sum(one.cleared for one in own)
    rewritten = sum(row.cache_cost(lambda *of: price(*of) or 0.0, ttl_ms)[0] for row in history)
    found = list(effects(responses, price, ttl_ms))
    if None in found:
        return Pruning(withheld, cleared, rewritten, None, None)
    sums = [sum(one[at] for one in found if one) for at in range(3)]
    return Pruning(withheld, cleared, rewritten, sums[0], sums[1], sums[2])


def payments_of(records: Sequence[Record], context: Context, price: Price) -> list[Paid]:
    """Return every response of a session with a usage, oldest first; `context` is the fold of its records."""
    return paid(records, price, context.withheld_from, context.counts.told_raw, context.prune_history.fetches)


def balance(records: Sequence[Record], context: Context, price: Price, ttl_ms: int) -> Pruning:
    """Return the effect of pruning on the cost of a session. Takes O(records)."""
    rows = context.prune_history.rows.values()
    return pruning(payments_of(records, context, price), rows, price, ttl_ms)


def _only_fetching(fetches: Iterable[Fetch]) -> set[int]:
    """Return the answers that did nothing but fetch withheld content again."""
    fetched = Counter((one.answer, one.calls) for one in fetches if one.calls)
    return {answer for (answer, calls), count in fetched.items() if count >= calls}


def _without_fetched(one: Paid) -> Usage:
    """Return the prompt of a request without fetched content, which was written the first time and later read from
    the cache."""
    plain, read = one.usage.input_tokens, one.usage.cache_read_input_tokens
    if read is None:
        return Usage(max(0, plain - one.again))
    written = one.usage.cache_creation_input_tokens or 0
    old = min(read, one.again - one.again_fresh)
    new = min(written, one.again - old)
    return Usage(max(0, plain - (one.again - old - new)), 0, read - old, written - new)


def _prompt(usage: Usage) -> Usage:
    return Usage(usage.input_tokens, 0, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)


def _unpruned(one: Paid, before: Paid | None, ttl_ms: int) -> Usage:
    """Return the prompt of a request as it would have been reported without prunes.

    Without a prune since the last request, the cached part includes the withheld tokens. After a prune, all of the
    last request would have been cached, if anything was; after a rewind, what it left of the last request. An
    endpoint that reports no cache is treated as having none.
    """
    usage, read = one.usage, one.usage.cache_read_input_tokens
    if read is None:
        return Usage(usage.input_tokens + one.withheld)
    whole = usage.prompt_tokens + one.withheld
    warm = before is not None and before.model == one.model and (one.idle_ms or 0) <= ttl_ms
    there = read + one.withheld - one.fresh if read else 0
    if one.edited and warm and before is not None:
        last = before.usage.prompt_tokens + before.withheld
        there = last if one.kept is None else max(there, min(last, one.kept))
    there = min(there, whole - usage.input_tokens)
    return Usage(usage.input_tokens, 0, there, whole - usage.input_tokens - there)
