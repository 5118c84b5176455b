"""Regret: quotes of content that was pruned or held back, and the cost of fetching it again.

A quote of hidden text is a regret if no newer source of the same text is in the context, so that the text must be
fetched again. The cost has three parts. One more request carries the whole context, at the read price, or at the
write price if none of it was cached. The text costs the write price, and then the read price in each later request.
The call costs its output tokens. A result is fetched at most once. There are two charges: for quotes by an edit, and
for any quote, which includes the first.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.model.messages import Usage
from prunecli.replay.quotes import BLOCK, LENGTH, Match, Quoting, folded
from prunecli.replay.rates import Rates

if TYPE_CHECKING:
    from prunecli.replay.rows import Row
    from prunecli.replay.script import Script, Step

Span = tuple[int, int]
"""The first and the last place where a quote of `LENGTH` characters begins."""


class Played(Protocol):
    """The interface of the player that this module uses: the context, and the place of a source record in it."""

    context: Context
    places: dict[int, int]


@dataclass(slots=True)
class Places:
    """A set of places, as ascending spans with gaps between them."""

    _starts: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)

    def add(self, span: Span) -> None:
        """Add the places of a span, and join it with those that it overlaps or touches."""
        start, end = span
        first, behind = bisect_left(self._ends, start - 1), bisect_right(self._starts, end + 1)
        if first < behind:
            start, end = min(start, self._starts[first]), max(end, self._ends[behind - 1])
        self._starts[first:behind], self._ends[first:behind] = [start], [end]

    def cover(self, span: Span) -> bool:
        """Return whether all places of a span are in the set."""
        at = bisect_right(self._starts, span[0]) - 1
        return at >= 0 and self._ends[at] >= span[1]


@dataclass(slots=True)
class _Charge:
    """One way of charging: the results fetched so far, with their cost in USD."""

    costs: dict[int, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return sum(self.costs.values())


@dataclass(slots=True)
class Regrets:
    """The regrets of one play.

    `hidden` are the places in the source's log of edited or held-back content, and `rewound` those of records that a
    rewind left out of the context. `reply_tokens` is the output tokens of a call that fetches something again.
    """

    script: "Script"
    played: Played
    reply_tokens: int
    hidden: set[int] = field(default_factory=set)
    rewound: set[int] = field(default_factory=set)
    new: set[int] = field(default_factory=set)
    _any: _Charge = field(default_factory=_Charge)
    _edit: _Charge = field(default_factory=_Charge)

    def answered(self, step: "Step", usage: Usage, rates: Rates) -> None:
        """Charge the quotes of a response whose request had this usage. `new` are the results that had to be
        fetched."""
        self.new = set()
        quoting = self.script.quotes.get(step.source) if self.hidden else None
        if quoting is None or self.hidden.isdisjoint(quoting.sources):
            return
        further = self.script.further[step.source]
        by_edits = (
            self._missing(quoting, self._edit.costs, edits_only=True) if quoting.by_edits else set[int]()
        )
        by_any = self._missing(quoting, self._any.costs, edits_only=False) | by_edits
        for charge, sources in ((self._edit, by_edits), (self._any, by_any - self._any.costs.keys())):
            for source in sorted(sources):
                charge.costs[source] = self._cost(source, usage, rates, further)
        self.new = by_any

    def settle(self, row: "Row") -> None:
        """Store the regrets in a row whose costs are complete."""
        row.regret, row.edit_regret = len(self._any.costs), len(self._edit.costs)
        row.cost_with_any_rereads = row.cost + self._any.total
        row.cost_with_rereads = row.cost + self._edit.total

    @property
    def costs(self) -> Mapping[int, float]:
        """The cost in USD of fetching each quoted result again."""
        return self._any.costs

    @property
    def missed(self) -> Container[int]:
        """The results whose text an edit had to match after it was gone."""
        return self._edit.costs

    def _cost(self, source: int, usage: Usage, rates: Rates, further: int) -> float:
        tokens = self._tokens(source)
        context = rates.read if usage.cache_read_input_tokens else rates.write
        once = usage.prompt_tokens * context + tokens * rates.write + self.reply_tokens * rates.output
        return (once + tokens * rates.read * further) / 1e6

    def _tokens(self, source: int) -> float:
        """Return the tokens that fetching brings back: the whole pruned content, or the part that was held back."""
        context = self.played.context
        entry = context.entries[self.played.places[source]]
        gone = context.text_edit(entry.seq) is not None or _is_dropped(context, entry)
        return context.counts.factor * (entry.held_tokens + (context.counts.tokens(entry) if gone else 0))

    def _missing(self, quoting: Quoting, fetched: Mapping[int, float], *, edits_only: bool) -> set[int]:
        """Return the sources of quotes whose text is neither in the context from a newer source nor already
        fetched."""
        found, hidden, rewound = set[int](), self.hidden, self.rewound
        absent = hidden | rewound if rewound else hidden
        for said, matches, sources, copies in quoting.said:
            if (edits_only and not said.edits) or hidden.isdisjoint(sources):
                continue
            gone = [older for newest, older in copies if newest <= absent]
            wanted = (
                hidden.intersection(frozenset().union(*gone)).difference(fetched, rewound) if gone else ()
            )
            if not wanted:
                continue
            oldest = min(wanted)
            seen = Places()
            for one in matches if fetched else ():
                if one.source in fetched:
                    seen.add((one.start, one.end - LENGTH))
            for match in matches:
                source, start, end = match
                if source < oldest:
                    break
                if source in fetched or source in rewound:
                    continue
                span = start, end - LENGTH
                if source not in wanted or source in found:
                    seen.add(span)
                elif not seen.cover(span):
                    for visible in self._visible(match, said.text):
                        seen.add(visible)
                    if not seen.cover(span):
                        found.add(source)
                        seen.add(span)
        return found

    def _visible(self, match: Match, text: str) -> Iterator[Span]:
        """Yield the places of a quote that an edited or shortened source still shows."""
        shown = self._text_of(match.source)
        if shown is None:
            yield match.start, match.end - LENGTH
            return
        at, last = match.start, match.end - LENGTH
        while shown and at <= last:
            block = match.start + -(-(at - match.start) // BLOCK) * BLOCK  # lies in the text from `at` on
            if text[block : block + BLOCK] not in shown:
                at = block + 1
                continue
            if text[at : at + LENGTH] not in shown:
                at += 1
                continue
            shorter = range(at + LENGTH + 1, match.end + 1)
            end = at + LENGTH + bisect_left(shorter, True, key=lambda end: text[at:end] not in shown)
            yield at, end - LENGTH
            at = end - LENGTH + 1

    def _text_of(self, source: int) -> str | None:
        """Return the shown text of a source, folded; None if all of it is shown."""
        context = self.played.context
        entry = context.entries.get(self.played.places.get(source, -1))
        if entry is None or _is_dropped(context, entry):
            return ""
        edit = context.text_edit(entry.seq)
        if edit is not None:
            shown = "" if edit.kind == "clear" else edit.text or ""
        elif entry.spilled:
            shown = entry.spilled.shown
        else:
            return None
        if shown not in self.script.folded:
            self.script.folded[shown] = folded(shown)
        return self.script.folded[shown]


def _is_dropped(context: Context, entry: Entry) -> bool:
    return entry.exchange is not None and context.dropped(entry.exchange)


def needed(quoting: Quoting) -> set[int]:
    """Return the sources that a response quotes, except those whose text is also in a newer source."""
    found: set[int] = set()
    for _, matches, *_ in quoting.said:
        seen = Places()
        for match in matches:
            span = match.start, match.end - LENGTH
            if not seen.cover(span):
                found.add(match.source)
                seen.add(span)
    return found
