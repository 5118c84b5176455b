"""The tokens of a context item by kind, and its carry cost, as numbers that can be summed.

`Scale` converts them to the displayed tokens: raw estimates, and the endpoint's own count for answers.
"""

from collections.abc import Iterable, Iterator
from operator import add, sub
from typing import NamedTuple

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.context.tokens import NOTHING as NONE
from prunecli.context.tokens import Amount, apportioned, total
from prunecli.inspector import labels
from prunecli.inspector.carry_cost import Rides
from prunecli.inspector.labels import Key

_KINDS = {"command": "results", "assistant": "assistant", "result": "results"}
_WORDS = {"user": "user_words", "summary": "note_words"}


class Sums(NamedTuple):
    """Raw tokens of items, by kind, as shown.

    Of `prunable` results, `pruned` are edited or dropped. `exact`: the endpoint's own count of reported answers, in
    addition to the raw `assistant`. `user`: typed commands; `user_words`: all other user messages. Notes are memos,
    and `note_words` summaries. `memos` began later than their item and are not carried with it. The carried tokens
    are `base` plus the shown tokens times the requests.
    """

    user: int = 0
    user_words: int = 0
    assistant: int = 0
    exact: int = 0
    results: int = 0
    notes: int = 0
    note_words: int = 0
    original: int = 0
    original_exact: int = 0
    original_words: int = 0
    base: int = 0
    base_exact: int = 0
    base_words: int = 0
    prunable: int = 0
    pruned: int = 0
    memos: int = 0
    held: int = 0

    @property
    def shown(self) -> Amount:
        """The tokens of the items in the next request."""
        raw = self.user + self.assistant + self.results + self.notes
        return Amount(raw, self.exact, self.user_words + self.note_words)

    @property
    def whole(self) -> Amount:
        """The tokens of the items before any edit."""
        return Amount(self.original, self.original_exact, self.original_words)

    def carried(self, requests: int) -> Amount:
        """Return the carried tokens: each token times the requests that included it."""
        base = Amount(self.base, self.base_exact, self.base_words)
        return base.plus(self.shown.minus(Amount(self.memos)).times(requests))

    def plus(self, other: "Sums") -> "Sums":
        """Return the sum of two sets of sums."""
        return Sums(*map(add, self, other))

    def minus(self, other: "Sums") -> "Sums":
        """Return the difference of two sets of sums."""
        return Sums(*map(sub, self, other))


NOTHING = Sums()


def measured(context: Context, rides: Rides, item: Entry) -> Sums:
    """Return the sums of an item of the context: a user message, a summary, or an exchange by its head."""
    counts = context.counts
    parts = item.exchange.entries if item.exchange else (item,)
    hidden = item.exchange is not None and context.dropped(item.exchange)
    by_kind = dict.fromkeys((*_KINDS.values(), *_WORDS.values(), "user"), 0)
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
        typed = sum(map(counts.counter.count, entry.typed)) if entry.kind == "command" else 0
        by_kind["user"] += typed
        if entry.kind in _WORDS:
            by_kind[_WORDS[entry.kind]] += amount.words
        else:
            by_kind[_KINDS[entry.kind]] += amount.raw - typed
        shown = shown.plus(amount)
    whole = total(map(counts.amount, parts))
    flips = context.unseen.flips
    carried = total(rides.carried(entry, counts, flips.get(entry.seq, ())) for entry in parts)
    base = carried.minus(shown.times(rides.requests))
    memos = sum(map(counts.memo_tokens, context.memos_at(item.exchange))) if item.exchange else 0
    return Sums(
        **by_kind,
        exact=shown.exact,
        notes=memos,
        original=whole.raw,
        original_exact=whole.exact,
        original_words=whole.words,
        base=base.raw,
        base_exact=base.exact,
        base_words=base.words,
        prunable=prunable,
        pruned=pruned,
        memos=memos,
        held=sum([entry.held_tokens for entry in parts]),
    )


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
