"""The tokens of a context item by kind, and its carry cost, as numbers that can be summed.

`Scale` converts them to the displayed tokens: raw estimates, and the endpoint's own count for answers.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from prunecli.context.again import shown_in
from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.context.tokens import NOTHING as NONE
from prunecli.context.tokens import Amount, apportioned, total
from prunecli.inspector import labels
from prunecli.inspector.carry_cost import Rides
from prunecli.inspector.labels import Key

_KINDS = {"command": "results", "result": "results", "user": "user", "summary": "notes"}


class Sums(NamedTuple):
    """Tokens of items.

    As shown: `user` messages and typed commands, `results`, `notes` (memos and summaries). `shown`: all of these and
    the answers. `whole`: before any edit. Of `prunable` results, `pruned` are edited or dropped. `memos` began later
    than their item and are not carried with it. The carried tokens are `base` plus the shown tokens times the
    requests. `held` and `memos` are raw.
    """

    user: Amount = NONE
    results: Amount = NONE
    notes: Amount = NONE
    shown: Amount = NONE
    whole: Amount = NONE
    base: Amount = NONE
    prunable: int = 0
    pruned: int = 0
    memos: int = 0
    held: int = 0

    def carried(self, requests: int) -> Amount:
        """Return the carried tokens: each token times the requests that included it."""
        return self.base.plus(self.shown.minus(Amount(self.memos)).times(requests))

    def plus(self, other: "Sums") -> "Sums":
        """Return the sum of two sets of sums."""
        return Sums(*map(_plus, self, other))

    def minus(self, other: "Sums") -> "Sums":
        """Return the difference of two sets of sums."""
        return Sums(*map(_minus, self, other))


def _plus(one: Any, other: Any) -> Any:
    return one.plus(other) if isinstance(one, Amount) else one + other


def _minus(one: Any, other: Any) -> Any:
    return one.minus(other) if isinstance(one, Amount) else one - other


NOTHING = Sums()


def measured(context: Context, rides: Rides, item: Entry) -> Sums:
    """Return the sums of an item of the context: a user message, a summary, or an exchange by its head."""
    counts = context.counts
    parts = item.exchange.entries if item.exchange else (item,)
    hidden = item.exchange is not None and context.dropped(item.exchange)
    by_kind = dict.fromkeys(_KINDS.values(), NONE)
    pruned = prunable = 0
    shown = NONE
    for entry in parts:
        edit = context.text_edit(entry.seq)
        if entry.prunable:
            prunable += 1
            pruned += hidden or edit is not None
        if hidden:
            continue
        amount = counts.shown_amount(entry, edit)
        shown = shown.plus(amount)
        if entry.kind == "command":
            typed = Amount(sum(map(counts.counter.count, entry.typed)))
            by_kind["user"] = by_kind["user"].plus(typed)
            amount = amount.minus(typed)
        if kind := _KINDS.get(entry.kind):
            by_kind[kind] = by_kind[kind].plus(amount)
    flips = context.unseen.flips
    carried = total(rides.carried(entry, counts, flips.get(entry.seq, ())) for entry in parts)
    memos = sum(map(counts.memo_tokens, context.memos_at(item.exchange))) if item.exchange else 0
    return Sums(
        by_kind["user"],
        by_kind["results"],
        by_kind["notes"].plus(Amount(memos)),
        shown.plus(Amount(memos)),
        total(map(counts.amount, parts)),
        carried.minus(shown.times(rides.requests)),
        prunable,
        pruned,
        memos,
        sum([held_tokens(context, entry) for entry in parts]),
    )


def held_tokens(context: Context, entry: Entry | None) -> int:
    """Return the raw tokens of a live result that no request contains; 0 once it is pruned or shown again."""
    if entry is None:
        return 0
    is_dropped = entry.exchange is not None and context.dropped(entry.exchange)
    is_cut = is_dropped or context.text_edit(entry.seq) is not None
    return 0 if is_cut or shown_in(context, entry.seq) >= 0 else entry.held_tokens


def shown_results(context: Context, items: Iterable[Entry | None]) -> Iterator[tuple[int, int]]:
    """Yield the results that these items show: seq and tokens."""
    counts = context.counts
    for item in items:
        if item and item.exchange and not context.dropped(item.exchange):
            for result in item.exchange.results:
                yield result.seq, counts.scale.tokens(*counts.amount(result, context.text_edit(result.seq)))


def measured_part(context: Context, entry: Entry, part: Key) -> Amount:
    """Return the tokens of one part of an answer.

    They are the part's share of the endpoint's count for the whole answer, or for the answer without its thinking.
    """
    counts, parts = context.counts, labels.parts_of(entry)
    raw = [sum(map(counts.counter.count, labels.texts_of(entry, one.kind))) for one in parts]
    at = parts.index(part)
    if not counts.amount(entry).exact:
        return Amount(raw[at])
    if part.kind == "thinking":
        return counts.thinking(entry)
    spoken = [0 if one.kind == "thinking" else size for one, size in zip(parts, raw, strict=True)]
    return Amount(exact=apportioned(counts.amount(entry, silent=True).exact, spoken)[at])
