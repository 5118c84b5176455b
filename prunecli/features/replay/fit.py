"""Fits the numbers of `data/expectations.json` to recorded sessions.

* The probability that a result is quoted again, by kind and age (the number of requests that showed it): the share of
  results that a later response quotes while no newer source is in the context. Results that a later read or write
  replaced have their own number.
* The probability that the long texts in a call's input are quoted again, in the same way, within the further requests
  that `auto` counts. Neither a later call on the same file nor a failed call changed it, so they have no number.
* The number of further requests: the bounds for which "as many as so far" was closest to the actual number, at the
  requests that found nothing cached.
* Caps: the savings of each cap, minus the cost of fetching the quoted rest. `strong` is the cap that saves most. For
  `normal`, an edit whose text was held back counts as some additional requests, because a recording can't show what
  else would have gone wrong. Sessions differ widely here, so a cap must be better over the sessions, not just in sum.

A number without enough evidence stays unchanged.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from prunecli.context.exchange import Entry, Exchange
from prunecli.context.expectations import GROUPS, KINDS, Caps, Expectations, Group, Kind, Level
from prunecli.context.inputs import INPUT_KINDS, InputKind, long_texts
from prunecli.context.spill import kind_of
from prunecli.context.strategies.superseded import superseded
from prunecli.context.view import View
from prunecli.features.replay.regret import folded, needed_texts
from prunecli.features.replay.replayer import Replayer, Sent
from prunecli.model.events import AssistantMessage, ToolResult
from prunecli.model.messages import Json, plain_text
from prunecli.util.frozen import frozen

CAPS = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
"""The caps to try besides those in effect, in tokens."""
_MISSED: Mapping[Level, int] = {"normal": 5, "strong": 0}
"""The cost of an edit whose text was held back, in requests of its session's average cost."""
FEWEST = 30
"""Minimum results or moments needed to change a number."""
_LEAST = (2, 3, 5, 8, 12)
_MOST = (20, 30, 40, 60, 80, 100, 120)


@frozen
class Seen:
    """One result: its group, and the ages at its last request and its last quote (-1: none).

    `replaced` is the age at which a newer result had replaced it, or -1.
    """

    group: Group
    last: int
    quoted: int
    replaced: int

    def is_live(self, age: int) -> bool:
        """Return whether the result was still shown at this age and had not been replaced."""
        return self.last >= age and (self.replaced < 0 or self.replaced > age)


@frozen
class SeenInput:
    """Long texts of one call's input: the kind of the most likely one, the number of the first request that showed
    them, the ages at their last request and at each quote of them."""

    kind: InputKind
    first: int
    last: int
    quoted: tuple[int, ...]

    def is_quoted(self, age: int, before: Expectations) -> bool:
        """Return whether they were quoted from this age on, within the further requests that `auto` counts."""
        return any(age <= one <= age + before.further(self.first + age) for one in self.quoted)


@frozen
class Cut:
    """The savings of a cap on one kind, in USD, and the edits that would have missed their text."""

    usd: float = 0.0
    missed: int = 0

    def plus(self, other: "Cut") -> "Cut":
        """Return the sum of two cuts."""
        return Cut(self.usd + other.usd, self.missed + other.missed)


Cuts: TypeAlias = dict[tuple[Kind, int], Cut]


@dataclass(slots=True)
class FitData:
    """The evidence from one session.

    `cold` has the numbers of earlier and further requests at each request that found nothing cached. `cuts` is by
    kind and cap; `bill` is the USD of all `requests` without any cap.
    """

    results: list[Seen] = field(default_factory=list)
    inputs: list[SeenInput] = field(default_factory=list)
    cold: list[tuple[int, int]] = field(default_factory=list)
    cuts: Cuts = field(default_factory=dict)
    bill: float = 0.0
    requests: int = 0

    def add(self, cuts: Cuts) -> None:
        """Add the effects of caps."""
        for key, cut in cuts.items():
            self.cuts[key] = self.cuts.get(key, Cut()).plus(cut)


class Recording:
    """An observer of a play without pruning: records when results are needed, and the cost of carrying a token."""

    def __init__(self) -> None:
        self.prices: list[float] = []
        self.writes: list[float] = []
        self._needed: dict[int, int] = {}
        self._quotes: dict[int, list[tuple[int, str]]] = {}
        self._replaced: dict[int, int] = {}
        self._answers: dict[int, int] = {}
        self._cold: list[int] = []

    def watch(self, player: Replayer, sent: Sent) -> None:
        """Process a request."""
        number = len(self.prices)
        self._answers[sent.step.source] = number
        read = sent.usage.cache_read_input_tokens or 0
        self.prices.append(sent.rates.read if read else sent.rates.write)
        self.writes.append(sent.rates.write)
        if number and not read:
            self._cold.append(number)
        quoting = player.script.quotes.get(sent.step.source)
        for source, text in needed_texts(quoting) if quoting else ():
            self._needed[source] = number
            if source in self._answers:
                self._quotes.setdefault(source, []).append((number, text))
        for entry, _ in superseded(View(player.context, 1)):
            self._replaced.setdefault(player.sources[entry.seq], number)

    def evidence(self, player: Replayer, least: int) -> FitData:
        """Return the evidence on results with at least this many tokens."""
        further = {self._answers[source]: count for source, count in player.script.further.items()}
        entries = [entry for entry in player.context.entries.values() if entry.kind == "result"]
        return FitData(
            [self._seen(player, entry) for entry in entries if player.context.counts.tokens(entry) >= least],
            [one for exchange in player.context.exchanges for one in self._inputs(player, exchange)],
            [(number, further[number] + 1) for number in self._cold],
            bill=player.row.cost,
            requests=player.row.requests,
        )

    def _inputs(self, player: Replayer, exchange: Exchange) -> Iterator[SeenInput]:
        """Yield the long texts of an answer's calls, those of each kind together with the less likely ones, as a
        strategy leaves them out."""
        source = player.sources[exchange.seq]
        first, last = self.first_shown(player, exchange.head), player.script.further.get(source, 0) - 1
        event = exchange.head.event
        said = folded(plain_text(event.content)) if isinstance(event, AssistantMessage) else ""
        for call in exchange.calls:
            texts = [(one.kind, folded(one.text)) for one in long_texts(call)]
            for kind in (one for one in INPUT_KINDS if one in {found for found, _ in texts}):
                rank = INPUT_KINDS.index(kind)
                gone = [text for other, text in texts if INPUT_KINDS.index(other) <= rank]
                left = [said, *(text for other, text in texts if INPUT_KINDS.index(other) > rank)]
                quoted = (
                    number - first
                    for number, quote in self._quotes.get(source, ())
                    if any(quote in text or text in quote for text in gone)
                    and not any(quote in text for text in left)
                )
                yield SeenInput(kind, first, last, tuple(quoted))

    def first_shown(self, player: Replayer, entry: Entry) -> int:
        """Return the number of the request that showed a result first."""
        head = entry.exchange.seq if entry.exchange else entry.seq
        return self._answers.get(player.sources[head], -1) + 1

    def _seen(self, player: Replayer, entry: Entry) -> Seen:
        source, first = player.sources[entry.seq], self.first_shown(player, entry)
        head = player.sources[entry.exchange.seq] if entry.exchange else source
        ages = (self._needed.get(source), self._replaced.get(source))
        quoted, replaced = (-1 if number is None else number - first for number in ages)
        last = player.script.further.get(head, 0) - 1
        return Seen(_group(entry), last, quoted, replaced)


def _kind(entry: Entry) -> Kind | None:
    return kind_of(entry.call, entry.touches) if entry.call else None


def _group(entry: Entry) -> Group:
    kind = _kind(entry)
    return GROUPS[kind] if kind else "read" if entry.touches and entry.touches.reads else "other"


def cuts_by(cap: int, player: Replayer, witness: Recording) -> Cuts:
    """Return the effects of this cap on all kinds in a play."""
    found: Cuts = {}
    factor, regrets = player.context.counts.factor, player.regrets
    for entry in player.context.entries.values():
        kind = _kind(entry)
        if kind and isinstance(entry.event, ToolResult) and entry.event.spilled:
            first, source = witness.first_shown(player, entry), player.sources[entry.seq]
            end = first + 1 + _last(player, entry)
            carried = sum(witness.writes[first : first + 1]) + sum(witness.prices[first + 1 : end])
            saved = factor * entry.event.spilled.tokens * carried / 1e6
            cut = Cut(saved - regrets.costs.get(source, 0.0), source in regrets.missed)
            found[kind, cap] = found.get((kind, cap), Cut()).plus(cut)
    return found


def fitted(found: Iterable[FitData], before: Expectations) -> dict[str, Json]:
    """Return the data file fitted to this evidence. Numbers without enough evidence stay unchanged."""
    each = list(found)
    results = [result for one in each for result in one.results]
    cold = [pair for one in each for pair in one.cold]
    table: dict[Group, list[float]] = {group: _by_age(results, group, before) for group in before.quoted}
    caps = {level: _caps(each, before.caps[level], _MISSED[level]) for level in before.caps}
    return {
        "caps": caps,
        "least_held": before.caps["normal"].least,
        "page": before.page,
        "quoted": {"ages": list(before.ages), **table},
        "superseded": _replaced(results, before),
        "inputs": _inputs([one for each_one in each for one in each_one.inputs], before),
        "further_requests": list(_bounds(cold) if len(cold) >= FEWEST else before.further_requests),
        "reply_tokens": before.reply_tokens,
        "summary_tokens": before.summary_tokens,
        "return_tokens": before.return_tokens,
        "min_tokens": before.min_tokens,
        "min_age": before.min_age,
        "min_batch": before.min_batch,
        **({"warm_margin": list(before.warm_margin)} if all(map(math.isfinite, before.warm_margin)) else {}),
    }


def _by_age(results: Sequence[Seen], group: Group, before: Expectations) -> list[float]:
    """Return the share of a group's results that was quoted at each age or later. The share never rises with age."""
    found: list[float] = []
    for age, known in zip(before.ages, before.quoted[group], strict=True):
        shown = [result for result in results if result.group == group and result.is_live(age)]
        part = sum(result.quoted >= age for result in shown) / len(shown) if len(shown) >= FEWEST else known
        found.append(round(min([part, *found[-1:]]), 3))
    return found


def _inputs(found: Sequence[SeenInput], before: Expectations) -> dict[str, Json]:
    """Return the probabilities that the texts of an input are quoted, by kind and age."""
    table: dict[str, list[float]] = {}
    for kind in INPUT_KINDS:
        row = list[float]()
        for at, age in enumerate(before.ages):
            shown = [one.is_quoted(age, before) for one in found if one.kind == kind and one.last >= age]
            known = before.inputs[kind][at] if kind in before.inputs else 1.0
            part = sum(shown) / len(shown) if len(shown) >= FEWEST else known
            row.append(round(min([part, *row[-1:]]), 3))
        table[kind] = row
    return {**table}


def _replaced(results: Sequence[Seen], before: Expectations) -> float:
    """Return the share of replaced results that was quoted after they had been replaced."""
    gone = [
        result
        for result in results
        if result.replaced >= 0 and result.last >= max(result.replaced, before.min_age)
    ]
    if len(gone) < FEWEST:
        return before.superseded
    return round(sum(one.quoted >= max(one.replaced, before.min_age) for one in gone) / len(gone), 3)


def _bounds(cold: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the bounds that bring "as many as so far" closest to the actual number of further requests."""
    pairs = [(least, most) for least in _LEAST for most in _MOST]

    def off(bounds: tuple[int, int]) -> float:
        return sum(abs(min(max(so_far, bounds[0]), bounds[1]) - further) for so_far, further in cold)

    return min(pairs, key=off)


def _caps(each: Sequence[FitData], before: Caps, missed: int) -> dict[Kind, int]:
    """Return the most valuable cap for each kind. A cap changes only if the gain is two standard errors over the
    sessions, so a few large sessions do not decide."""

    def worth(one: FitData, kind: Kind, cap: int) -> float:
        cut = one.cuts.get((kind, cap), Cut())
        return cut.usd - missed * cut.missed * one.bill / max(1, one.requests)

    def better(kind: Kind, cap: int) -> float:
        gains = [worth(one, kind, cap) - worth(one, kind, before.of(kind)) for one in each]
        return sum(gains) if sum(gains) > 2 * math.hypot(*gains) else 0.0

    return {kind: max((before.of(kind), *reversed(CAPS)), key=partial(better, kind)) for kind in KINDS}


def _last(player: Replayer, entry: Entry) -> int:
    head = entry.exchange.seq if entry.exchange else entry.seq
    return max(0, player.script.further.get(player.sources[head], 0) - 1)
