"""The cost of each request, and the savings and cost of pruning, from the endpoint's reports.

Each request is compared with the one that would have been sent without any prune: longer by the withheld tokens, and
read from the cache to the extent that it would have been cached then (`unpruned.py`). The difference in price is the
effect of pruning. The part of it that comes from writing to the cache what would otherwise have been read is its
cost.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

from prunecli.context.clearing import clearing_of
from prunecli.context.prune_history import Fetch, PruneStats
from prunecli.context.state import Context
from prunecli.context.tokens import apportioned
from prunecli.frozen import frozen
from prunecli.inspector.held_back import HeldBack, HeldSums
from prunecli.inspector.unpruned import Asked, read_without_prunes
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    BilledReason,
    CompactionApplied,
    Record,
    RequestSent,
)
from prunecli.model.messages import Json, Usage
from prunecli.model.requests import TTL_MS

Kind: TypeAlias = Literal["answer"] | BilledReason
_RESPONSES = AssistantMessage | AttemptBilled | CompactionApplied
Price = Callable[[str, Usage], float | None]
"""The USD cost of a model's usage; None if the price is unknown."""


@frozen
class Paid:
    """One response, or an attempt that was billed without one; `cost` in USD, None for an unknown price.

    `withheld`: tokens that pruning kept out of its request, including those of results that were sent in part.
    `known`: the tokens of the request that would have been read from the cache without prunes, withheld ones
    included. `prunes`: the prunes and undos since the request before. `kind`: an answer, a summary, or the reason
    why an attempt has no answer.
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
    known: int = 0
    prunes: tuple[int, ...] = ()
    kind: Kind = "answer"
    cleared: int = 0
    extra: bool = False
    fresh: int = 0
    again: int = 0
    again_fresh: int = 0
    is_partial: bool = False

    @property
    def rewritten(self) -> int:
        """The tokens written to the cache that would have been read from it without prunes."""
        read, written = self.usage.cache_read_input_tokens, self.usage.cache_creation_input_tokens or 0
        would_read = self.known - (self.withheld - self.fresh)
        return 0 if read is None else min(written, max(0, would_read - read))


@frozen
class Pruning:
    """The effect of pruning on the bill in USD; None if a price is unknown.

    `cleared`: the part of the withheld tokens that the endpoint cleared itself. `saved`: what the withheld tokens
    would have cost. `cost`: the price of writing `rewritten` tokens to the cache instead of reading them. `regret`:
    the cost of fetching withheld content again: requests for nothing else, and sending it, both as long as without
    prunes, because `saved` counts what was withheld from them, too.
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
        """Return the balance for the ledger, in USD; a figure without a known price is None."""
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
    ttl_ms: int = TTL_MS["5m"],
    preamble: int = 0,
) -> list[Paid]:
    """Return every response and every attempt with reported usage, oldest first.

    `withheld` returns the tokens that prunes kept out of a response's request. `told` converts raw tokens of results
    to those of a response's model. `fetches` are the results that were fetched again. `ttl_ms` is the cache lifetime.
    `preamble`: the tokens of system prompt and tools. Costs O(records).
    """
    found, extra = list[Paid](), _only_fetching(fetches)
    live, cleared = HeldBack({one.seq: one.raw for one in fetches}), 0
    sent: _Sent | None = None
    for record in records:
        event = record.event
        if isinstance(event, RequestSent):
            sent = _Sent(*live.asks(record.timestamp))
        if not isinstance(event, _RESPONSES) or not event.usage.prompt_tokens:
            live.take(record)
            continue
        one, usage = _billed(record, event, price), event.usage
        if one.kind == "task":  # not a request of this session
            found.append(one)
            continue
        sums, asked, prunes = sent or _Sent(*live.asks(record.timestamp))
        if isinstance(event, CompactionApplied) and event.block:
            sums = live.summed(event)
        if not isinstance(event, AttemptBilled):
            cleared = clearing_of(getattr(event, "applied_edits", None)).tokens
        asked = asked._replace(edits=(asked.edits[0], cleared))
        told_now = _at(told, record.seq)
        held, again, again_fresh = map(told_now, (sums.held, sums.again, sums.again_fresh))
        fresh = held - told_now(sums.held - sums.fresh)
        out = max(0, withheld(record.seq)) + cleared + held
        read, least = usage.cache_read_input_tokens or 0, preamble if out else None
        start = asked.cached(one.model, ttl_ms, read, asks_more=one.kind == "summary")
        known = read_without_prunes(start, asked, read, ttl_ms, told_now, least)
        one = replace(
            one,
            withheld=out,
            known=known,
            prunes=prunes,
            cleared=cleared,
            extra=record.seq in extra,
            fresh=fresh,
            again=again,
            again_fresh=again_fresh,
        )
        found.append(one)
        at, parts = record.timestamp, (sums.held, held)
        asked = live.branch.answered(asked, one.model, usage, out, parts, at, start)
        sent = _Sent(sums._replace(fresh=0, again_fresh=0), asked, ()) if one.kind == "cut" else None
        live.take(record)
    return found


def _at(told: Callable[[int, int], int], response: int) -> Callable[[int], int]:
    return lambda raw: told(raw, response)


class _Sent(NamedTuple):
    """A request: its sums, its place, and the prunes since the request before."""

    sums: HeldSums
    asked: Asked
    prunes: tuple[int, ...]


def _billed(
    record: Record, event: AssistantMessage | AttemptBilled | CompactionApplied, price: Price
) -> Paid:
    """Return a response with its price."""
    cost, kind = price(event.model, event.usage), _kind(event)
    is_partial = kind in ("cut", "stopped") or getattr(event, "stop_reason", "") == "interrupted"
    return Paid(
        record.seq, record.timestamp, event.model, event.usage, cost, kind=kind, is_partial=is_partial
    )


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


def effects(responses: Iterable[Paid], price: Price) -> Iterator[Effect | None]:
    """Yield the effect of pruning on the cost of each response; None if a price is unknown."""
    for one in responses:
        yield _effect(one, price)


def _effect(one: Paid, price: Price) -> Effect | None:
    saved = cost = regret = 0.0
    is_known = True

    def usd(usage: Usage) -> float:
        nonlocal is_known
        found = price(one.model, usage)
        is_known = is_known and found is not None
        return found or 0.0

    sent = _prompt(one.usage)
    if one.rewritten:
        cost = usd(sent) - usd(_moved(sent, one.rewritten))
    whole = _unpruned(one) if one.withheld or one.rewritten or one.prunes else sent
    if whole is not sent:
        saved = usd(whole) - usd(sent) + cost
    # Without prunes there would be no fetched content and no request for it: what `saved` counts for both ends here.
    if one.again:
        regret += usd(whole) - usd(_without_fetched(whole, one))
    if one.extra:
        regret += usd(Usage(0, one.usage.output_tokens, whole.prompt_tokens))
    return Effect(saved, cost, regret) if is_known else None


def pruning(responses: Sequence[Paid], price: Price) -> Pruning:
    """Return the effect of pruning on the cost of these responses."""
    withheld, cleared = sum(one.withheld for one in responses), sum(one.cleared for one in responses)
    rewritten = sum(one.rewritten for one in responses)
    found = list(effects(responses, price))
    if None in found:
        return Pruning(withheld, cleared, rewritten, None, None)
    sums = [sum(one[at] for one in found if one) for at in range(3)]
    return Pruning(withheld, cleared, rewritten, sums[0], sums[1], sums[2])


def rewrites(
    responses: Iterable[Paid], history: Mapping[int, PruneStats], price: Price
) -> dict[int, tuple[int, float]]:
    """Return the tokens written to the cache again because of each prune and undo, and their cost in USD, 0 if the
    price is unknown. Those of several before one request share its tokens in proportion to their estimates."""
    found: dict[int, tuple[int, float]] = {}
    for one in responses:
        effect = _effect(one, price) if one.rewritten else Effect()
        weights = [history[seq].rewritten for seq in one.prunes]
        for seq, part in zip(one.prunes, apportioned(one.rewritten, weights), strict=True):
            found[seq] = part, (effect.cost * part / one.rewritten if effect and part else 0.0)
    return found


def payments_of(records: Sequence[Record], context: Context, price: Price, ttl_ms: int) -> list[Paid]:
    """Return every response of a session with reported usage, oldest first; `context` is the fold of its records."""
    fetches, told = context.prune_history.fetches, context.counts.told_at
    return paid(records, price, context.withheld_from, told, fetches, ttl_ms, context.counts.fixed)


def balance(records: Sequence[Record], context: Context, price: Price, ttl_ms: int) -> Pruning:
    """Return the effect of pruning on the cost of a session. Takes O(records)."""
    return pruning(payments_of(records, context, price, ttl_ms), price)


def _only_fetching(fetches: Iterable[Fetch]) -> set[int]:
    """Return the answers that did nothing but fetch withheld content again."""
    fetched = Counter((one.answer, one.calls) for one in fetches if one.calls)
    return {answer for (answer, calls), count in fetched.items() if count >= calls}


def _without_fetched(usage: Usage, one: Paid) -> Usage:
    """Return the prompt of a request, as it was or without prunes, without fetched content, which was written the
    first time and later read from the cache."""
    plain, read = usage.input_tokens, usage.cache_read_input_tokens
    if read is None:
        return Usage(max(0, plain - one.again))
    written = usage.cache_creation_input_tokens or 0
    old = min(read, one.again - one.again_fresh)
    new = min(written, one.again - old)
    return _with_counts(usage, max(0, plain - (one.again - old - new)), read - old, written - new)


def _prompt(usage: Usage) -> Usage:
    return replace(usage, output_tokens=0, web_search_requests=None)


def _with_counts(usage: Usage, plain: int, read: int, written: int) -> Usage:
    """Return a prompt with these counts, cached for as long as the written tokens of `usage`."""
    hour, old = usage.cache_1h_input_tokens, usage.cache_creation_input_tokens
    hour = written * hour // old if hour is not None and old else None
    return Usage(plain, 0, read, written, cache_1h_input_tokens=hour)


def _moved(usage: Usage, tokens: int) -> Usage:
    """Return a prompt with this many of the written tokens read instead."""
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return _with_counts(usage, usage.input_tokens, read + tokens, written - tokens)


def _unpruned(one: Paid) -> Usage:
    """Return the prompt of a request as it would have been reported without prunes.

    An endpoint that reports no cache is treated as having none.
    """
    usage = one.usage
    if usage.cache_read_input_tokens is None:
        return Usage(usage.input_tokens + one.withheld)
    cached = usage.prompt_tokens + one.withheld - usage.input_tokens
    there = min(one.known, cached)
    return _with_counts(usage, usage.input_tokens, there, cached - there)
