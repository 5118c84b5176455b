"""The cost of each request, and the savings and cost of pruning, from the endpoint's reports.

What a request lacked (`context/prune_history.py`) would have been read from the cache without pruning, or written
where it was new or the cache was cold. That is what pruning saved. Against it stands what the endpoint reported as
written again right after a prune, and the price of fetching content again.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from prunecli.context.prune_history import Fetch, Lacked, PruneStats
from prunecli.context.state import Context
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    BilledReason,
    CompactionApplied,
    Record,
    UserMessage,
)
from prunecli.model.messages import Json, Usage
from prunecli.model.notes import typed
from prunecli.util.frozen import frozen

Kind: TypeAlias = Literal["answer", "prepared"] | BilledReason
_RESPONSES = AssistantMessage | AttemptBilled | CompactionApplied
Price = Callable[[str, Usage], float | None]
"""The USD cost of a model's usage; None if the price is unknown."""


@frozen
class Paid:
    """One response, or an attempt that was billed without one; `cost` in USD, None for an unknown price.

    `lacked`: what its request lacked because of pruning. `kind`: an answer, a summary, or the reason why an attempt
    has no answer. `extra`: the response did nothing but fetch withheld content again. `is_partial`: it broke off, so
    its output is an estimate.
    """

    seq: int
    timestamp: int
    model: str
    usage: Usage
    cost: float | None
    kind: Kind = "answer"
    lacked: Lacked = Lacked()
    extra: bool = False
    is_partial: bool = False

    @property
    def withheld(self) -> int:
        """The tokens that pruning kept out of the request, with the unsent parts of long results."""
        return self.lacked.pruned + self.lacked.cleared + self.lacked.unsent

    @property
    def rewritten(self) -> int:
        """The tokens written to the cache again because of prunes."""
        return min(self.lacked.rewritten, self.usage.cache_creation_input_tokens or 0)


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
    lacked: Mapping[int, Lacked] = {},  # never changed
    fetches: Sequence[Fetch] = (),
) -> list[Paid]:
    """Return every response and every attempt with reported usage, oldest first.

    `lacked` is what their requests lacked, by the seq of the response. `fetches` are the results that were fetched
    again.
    """
    found, extra = list[Paid](), _only_fetching(fetches)
    for record in records:
        event = record.event
        if not isinstance(event, _RESPONSES) or not event.usage.prompt_tokens:
            continue
        kind = _kind(event)
        is_partial = kind in ("cut", "stopped") or getattr(event, "stop_reason", "") == "interrupted"
        found.append(
            Paid(
                record.seq,
                record.timestamp,
                event.model,
                event.usage,
                price(event.model, event.usage),
                kind,
                lacked.get(record.seq, Lacked()),
                record.seq in extra,
                is_partial,
            )
        )
    return found


def _kind(event: AssistantMessage | AttemptBilled | CompactionApplied) -> Kind:
    match event:
        case AttemptBilled(reason=reason, prepared=prepared):
            return "prepared" if prepared else reason
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
    for response in responses:
        yield _effect(response, price)


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
    whole = _unpruned(one) if one.withheld or one.rewritten or one.lacked.prunes else sent
    if whole is not sent:
        saved = usd(whole) - usd(sent) + cost
    # Without prunes there would be no fetched content and no request for it: what `saved` counts for both ends here.
    if one.lacked.again:
        regret += usd(whole) - usd(_without_fetched(whole, one))
    if one.extra:
        regret += usd(Usage(0, one.usage.output_tokens, whole.prompt_tokens))
    return Effect(saved, cost, regret) if is_known else None


def pruning(responses: Sequence[Paid], price: Price) -> Pruning:
    """Return the effect of pruning on the cost of these responses."""
    withheld, cleared = (
        sum(response.withheld for response in responses),
        sum(response.lacked.cleared for response in responses),
    )
    rewritten = sum(response.rewritten for response in responses)
    found = list(effects(responses, price))
    if None in found:
        return Pruning(withheld, cleared, rewritten, None, None)
    sums = [sum(one[at] for one in found if one) for at in range(3)]
    return Pruning(withheld, cleared, rewritten, sums[0], sums[1], sums[2])


def rewrites(
    responses: Iterable[Paid], history: Mapping[int, PruneStats], price: Price
) -> dict[int, tuple[int, float]]:
    """Return the tokens written to the cache again because of each prune and undo, and their cost in USD, 0 if the
    price is unknown."""
    found: dict[int, tuple[int, float]] = {}
    for response in responses:
        effect = _effect(response, price) if response.rewritten else Effect()
        for seq in response.lacked.prunes:
            part = history[seq].rewritten
            found[seq] = part, (effect.cost * part / response.rewritten if effect and part else 0.0)
    return found


def billed_responses(records: Sequence[Record], context: Context, price: Price) -> list[Paid]:
    """Return every response of a session with reported usage, oldest first; `context` is the fold of its records."""
    history = context.prune_history
    return paid(records, price, history.lacked, history.fetches)


def balance(records: Sequence[Record], context: Context, price: Price) -> Pruning:
    """Return the effect of pruning on the cost of a session. Takes O(records)."""
    return pruning(billed_responses(records, context, price), price)


def _only_fetching(fetches: Iterable[Fetch]) -> set[int]:
    """Return the answers that did nothing but fetch withheld content again."""
    fetched = Counter((fetch.answer, fetch.calls) for fetch in fetches if fetch.calls)
    return {answer for (answer, calls), count in fetched.items() if count >= calls}


def _without_fetched(usage: Usage, one: Paid) -> Usage:
    """Return the prompt of a request, as it was or without prunes, without fetched content, which was written the
    first time and later read from the cache."""
    plain, read, again = usage.input_tokens, usage.cache_read_input_tokens, one.lacked.again
    if read is None:
        return Usage(max(0, plain - again))
    written = usage.cache_creation_input_tokens or 0
    old = min(read, again - one.lacked.again_fresh)
    new = min(written, again - old)
    return _with_counts(usage, max(0, plain - (again - old - new)), read - old, written - new)


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
    there = usage.cache_read_input_tokens
    if not one.lacked.cold:
        there = min(cached, there + one.rewritten + one.withheld - one.lacked.fresh)
    return _with_counts(usage, usage.input_tokens, there, cached - there)


WORDS_CHARS = 200


@dataclass(slots=True)
class BilledTurn:
    """A prompt with its cost. `number` counts prompts from 1; 0 is the part before the first prompt. `words` are the
    beginning of the prompt. `effects` are those of pruning on each response, None if a price is unknown.
    `summaries`: the requests for summaries after this prompt, made at once or prepared; "" for all others."""

    number: int = 0
    words: str = ""
    responses: list[Paid] = field(default_factory=list)
    effects: list[Effect | None] = field(default_factory=list)
    summaries: Literal["", "summary", "prepared"] = ""


def turns(
    records: Sequence[Record], responses: Sequence[Paid], effects: Sequence[Effect | None]
) -> list[BilledTurn]:
    """Return the turns with a response, oldest first. A steering message belongs to the turn that it steers."""
    prompts = [record for record in records if _is_prompt(record)]
    seqs = [record.seq for record in prompts]
    found: dict[tuple[int, str], BilledTurn] = {}
    for one, effect in zip(responses, effects, strict=True):
        number = bisect_right(seqs, one.seq)
        summaries = one.kind if one.kind in ("summary", "prepared") else ""
        key = number, summaries
        turn = found.get(key)
        if turn is None:
            event = prompts[number - 1].event if number else None
            words = typed(event)[:WORDS_CHARS] if isinstance(event, UserMessage) else ""
            turn = found[key] = BilledTurn(number, " ".join(words.split()), summaries=summaries)
        turn.responses.append(one)
        turn.effects.append(effect)
    return [found[number] for number in sorted(found)]


def _is_prompt(record: Record) -> bool:
    event = record.event
    return isinstance(event, UserMessage) and event.origin in ("prompt", "follow_up", "import")
