"""auto (the default): prune what costs more to keep than to fetch again, when the price is right.

Clearing saves writing the result once more and reading it with each further request. It costs a request of its own if
the result is needed again: its probability, by kind and age, and all other numbers come from
`data/expectations.json`. With a warm cache, it prunes only at a prompt, from the result on from which it gains most,
if the gain is a multiple of the cost of the break, or near the limit of the context, where the gate decides by price.
Old thinking leaves with a cold batch (`context/old_thinking.py`).
docs/pruning.md explains the policy on one page.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import takewhile
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from prunecli.context.cuts import worthwhile
from prunecli.context.economics import Market, cold, warmth
from prunecli.context.exchange import Entry
from prunecli.context.expectations import GROUPS, Expectations, Group, break_even
from prunecli.context.old_thinking import old_thinking
from prunecli.context.pressure import in_tool_round
from prunecli.context.spill import kind_of
from prunecli.context.strategies.superseded import outdated_lists, superseded
from prunecli.context.strategy import Proposal
from prunecli.context.view import NEVER, View
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied
from prunecli.util.figures import short
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.context import impact
else:
    impact = lazy("prunecli.context.impact")

NAME = "auto"
_MILLION = 1_000_000
_WAITS = "waits until the cache is cold or pruning pays"
LOSING = "Pruning cost more than it saved in this session: auto now waits until the cache is cold"


class _Fact(NamedTuple):
    """The edit that clears a result, its raw tokens, the tokens saved, the probability at each age that it is needed
    again, and what a request that fetches it may cost if clearing gains at any age."""

    edit: Edit
    raw: int
    saved: int
    odds: Sequence[float]
    most: float


@frozen
class Options:
    """No options: the numbers are fitted, in `data/expectations.json`."""


def propose(view: View, options: Options) -> Proposal:
    """Clear results that are worth clearing, if the cache is cold, if it pays at a prompt, or if the user asks."""
    market, numbers = view.market, view.expectations
    if numbers is None:
        return Proposal((), "the expectations were not loaded")
    if _done(view):
        return Proposal((), "everything worth clearing is cleared", lambda _: "expected to be worth keeping")
    still = cold(view.context, market) or market.now is None
    thinking = old_thinking(view) if still else []
    besides = sum(edit.tokens_saved for edit in thinking)
    at_prompt = not (still or in_tool_round(view.context))
    near = at_prompt and market.near_limit(view.context.counts.context_tokens)
    paying = _paying(view, market, numbers) if at_prompt and not (near or view.forced) else []
    if view.brief and not (still or view.forced or near or paying):
        return Proposal((), _WAITS)
    edits = paying or _worth(view, market, numbers, besides=besides)[0]
    freed = _freed(view, edits)
    results = f"{len(edits)} result{'s' * (len(edits) != 1)}, ~{short(freed)} tokens"
    thinking = thinking if freed + besides >= numbers.min_batch else []
    if thinking or (edits and (still or view.forced or ((near or paying) and not view.losing()))):
        edits = sorted([*edits, *outdated_lists(view, edits)], key=attrgetter("seq"))
        return Proposal((*thinking, *edits), "unlikely to be needed again", _why(view, numbers))
    if not edits or still:
        return Proposal((), "no result is worth clearing", _why(view, numbers))
    left = warmth(view.context, market)
    waits = f"{_WAITS}: {left}"
    problem = LOSING if near or paying else ""
    return Proposal((), f"{waits}; then {results}", lambda _: waits, problem, f"cache {left}", freed)


def _done(view: View) -> bool:
    """Return whether this strategy has already pruned since the last response."""
    last = view.context.exchanges[-1].seq if view.context.exchanges else -1
    newest_first = reversed(view.context.pruns.items())
    since = (record.event for _, record in takewhile(lambda one: one[0] > last, newest_first))
    return any(isinstance(event, PrunApplied) and event.strategy == NAME for event in since)


def _paying(view: View, market: Market, numbers: Expectations) -> list[Edit]:
    """Return the clears that are worth breaking a warm cache; none if they are not, or without known prices.

    A break costs more the earlier it is, so results before a long part that stays may have to wait.
    """
    edits, gains = _worth(view, market, numbers, cached=True)
    start = _best_start(view, market, edits, gains) if edits else 0
    edits = edits[start:]
    if not edits or _freed(view, edits) < numbers.min_batch:
        return []

    change = impact.impact(
        view.context, [PrunApplied("strategy", tuple(edits))], market, withholds=False
    ).change
    cost = change.cost if change else None
    return edits if cost is not None and sum(gains[start:]) > numbers.margin(market.ttl_ms) * cost else []


def _best_start(view: View, market: Market, edits: list[Edit], gains: list[float]) -> int:
    """Return the index of the clear from which on they are expected to gain most, less the cost of the break."""
    context, counts = view.context, view.context.counts
    rates = market.rates_for(counts.context_tokens)
    best, start, net, at = -inf, 0, 0.0, len(context.items)
    for index in range(len(edits) - 1, -1, -1):
        entry = context.entries[edits[index].seq]
        place = context.position(entry.exchange.seq if entry.exchange else entry.seq)
        rewritten = counts.tokens_of(context.items[place:at]) - _freed(view, edits[index : index + 1])
        net += gains[index] - rewritten * (rates.write - rates.read) / _MILLION
        at = place
        if net > best:
            best, start = net, index
    return start


def _worth(
    view: View, market: Market, numbers: Expectations, *, cached: bool = False, besides: int = 0
) -> tuple[list[Edit], list[float]]:
    """Return the clears whose expected gain is positive, and the gain of each in USD if prices are known.

    What is `cached` is read by further requests, but not written again. Returns no clears if they and what leaves
    `besides`, in tokens, free less than the minimum, unless the user asks.
    """
    counts = view.context.counts
    rates = market.rates_for(counts.context_tokens)
    per_raw = counts.scale.tokens(_MILLION) / _MILLION
    read = rates.read * numbers.further(view.context.requests)
    carried = per_raw * (rates.write + read)
    spared = per_raw * read if cached else carried
    fetch = rates.read * counts.context_tokens + rates.output * numbers.reply_tokens
    facts = view.measured((NAME, id(numbers.quoted)), lambda entry: _fact(view, entry, numbers))
    found = [(entry, fact) for entry in view.results if (fact := facts[entry])]
    replaced = {entry for entry, _ in superseded(view)} if found else set()
    ages = _ages(view, numbers)
    newest, edits, gains = ages[0] if ages else NEVER, list[Edit](), list[float]()
    back = fetch / carried
    for entry, fact in found:
        if back >= fact.most and entry not in replaced:
            continue
        edit, raw, saved, odds, _ = fact
        at = -1
        if entry.seq > newest:
            age = len(ages) - bisect_right(ages, entry.seq)
            if age < numbers.min_age:
                continue
            at = max(0, bisect_right(numbers.ages, age) - 1)
        risk = numbers.superseded if entry in replaced else odds[at]
        net = saved * spared - risk * (fetch + raw * carried)
        if net > 0:
            edits.append(edit)
            gains.append(net / _MILLION)
    if numbers.inputs and not cached:
        edits += worthwhile(view, numbers, ages, back)
    if not view.forced and _freed(view, edits) + besides < numbers.min_batch:
        return [], []
    return edits, gains


def _freed(view: View, edits: list[Edit]) -> int:
    """Return the tokens that clears free, as the endpoint counts them."""
    counts = view.context.counts
    return counts.scale.tokens(*counts.saved_by(edits, view.context.entries))


def _fact(view: View, entry: Entry, numbers: Expectations) -> _Fact | None:
    """Return the facts about a result; None if it is locked, too small, or its placeholder would not be shorter."""
    raw = view.tokens(entry)
    if raw < numbers.min_tokens or view.locked(entry):
        return None
    edit = view.replaced(
        "clear", entry, view.placeholder(entry, f"output pruned — ~{view.about(raw, entry):,} tokens")
    )
    if edit is None:
        return None
    odds = numbers.quoted[_group(entry)]
    return _Fact(edit, raw, edit.tokens_saved, odds, break_even(edit.tokens_saved, raw, min(odds)))


def _group(entry: Entry) -> Group:
    """Return the group of a result. A selected part of a file counts as a read, and a recall as the content it
    brought back."""
    shown = entry.origin or entry
    kind = kind_of(shown.call, shown.touches) if shown.call else "other"
    return GROUPS[kind or "read"]


def _ages(view: View, numbers: Expectations) -> list[int]:
    """Return the seqs of the newest answers, up to the greatest age that matters. A result's age is the number of
    answers after it."""
    most = max(numbers.ages[-1], numbers.min_age)
    return [exchange.seq for exchange in view.context.exchanges[-most:]]


def _why(view: View, numbers: Expectations) -> Callable[[Entry], str]:
    ages = _ages(view, numbers)

    def why(entry: Entry) -> str:
        if view.tokens(entry) < numbers.min_tokens:
            return f"under {numbers.min_tokens} tokens"
        if len(ages) - bisect_right(ages, entry.seq) < numbers.min_age:
            return "new: the model is still working with it"
        return "likely enough to be needed again"

    return why
