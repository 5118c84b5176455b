"""How much the items of a context take, by kind and by tool, and how often they were sent, as sums.

`Scale` converts them to the displayed tokens: raw estimates, and the endpoint's own count for answers. Every request
made while an entry is in the context carries it; under an edit, it carries the shorter text.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from prunecli.context import labels
from prunecli.context.again import shown_in
from prunecli.context.counting import clearing_of
from prunecli.context.exchange import Entry
from prunecli.context.inputs import cut_of
from prunecli.context.labels import Key
from prunecli.context.state import Context
from prunecli.context.tokens import NOTHING, Amount, apportioned, total
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Record,
    RequestSent,
    Rewound,
)


class CarryCost:
    """How often each entry of a log was sent.

    A response without a recorded request (imported sessions) counts as its own request.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.sent: list[int] = []
        self._open = False
        self._cleared: list[int] = []
        for record in records:
            self.take(record)

    def take(self, record: Record) -> None:
        """Add this record."""
        match record.event:
            case RequestSent():
                self.sent.append(record.seq)
                self._open = True
            case AssistantMessage(applied_edits=applied):
                if not self._open:
                    self.sent.append(record.seq)
                self._open = False
                if cleared := clearing_of(applied).tokens:
                    self._cleared.append(cleared)
            case CompactionApplied() | Rewound():
                self._cleared.clear()  # the cleared content is no longer there
            case _:
                pass

    def spared(self, results: Iterable[tuple[int, int]]) -> dict[int, int]:
        """Return the tokens that requests did not carry because the endpoint cleared them, by result.

        `results` are (seq, tokens), oldest first, which is the order in which the endpoint clears.
        """
        found: dict[int, int] = {}
        left = [each for each in self._cleared if each > 0]
        for seq, tokens in results:
            if not left:
                break
            found[seq] = sum(min(each, tokens) for each in left)
            left = [each - tokens for each in left if each > tokens]
        return found

    @property
    def requests(self) -> int:
        """The number of requests so far."""
        return len(self.sent)

    def since(self, seq: int) -> int:
        """Return the number of requests after this record."""
        return len(self.sent) - bisect_right(self.sent, seq)

    def carried(self, entry: Entry, context: Context) -> Amount:
        """Return the tokens of an entry, each times the requests that included it.

        What was undone counts as never done, and thinking that the model does not see now as never seen.
        """
        counts, start, found = context.counts, entry.seq, list[Amount]()
        edits = [pair for pair in context.edits_of(entry.seq) if pair[1].kind != "strip"]
        if entry.exchange and entry.exchange.head is not entry:
            drops = [pair for pair in context.edits_of(entry.exchange.seq) if pair[1].kind == "drop"]
            edits = sorted([*edits, *drops], key=lambda pair: pair[0]) if drops else edits
        shown = counts.shown_amount(entry)
        for prun, edit in edits:
            found.append(shown.times(self._between(start, prun)))
            earlier = (one for before, one in edits if before <= prun)
            now = cut_of(earlier) if edit.kind == "cut" else edit
            start, shown = prun, NOTHING if edit.kind == "drop" else counts.shown_amount(entry, now)
            if edit.kind == "drop":
                break
        return total((*found, shown.times(self.since(start))))

    def _between(self, start: int, end: int) -> int:
        return max(0, bisect_left(self.sent, end) - bisect_right(self.sent, start))


_KINDS = {"command": "results", "result": "results", "user": "user", "summary": "notes"}


class Sums(NamedTuple):
    """Tokens of items.

    As shown: `user` messages and typed commands, `results`, `notes` (memos and summaries). `shown`: all of these and
    the answers. `whole`: before any edit. Of `prunable` results, `pruned` are edited or dropped. `memos` began later
    than their item and are not carried with it. The carried tokens are `base` plus the shown tokens times the
    requests. `held` and `memos` are raw.
    """

    user: Amount = NOTHING
    results: Amount = NOTHING
    notes: Amount = NOTHING
    shown: Amount = NOTHING
    whole: Amount = NOTHING
    base: Amount = NOTHING
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


NO_SUMS = Sums()


def measured(context: Context, carry_cost: CarryCost, item: Entry) -> Sums:
    """Return the sums of an item of the context: a user message, a summary, or an exchange by its head."""
    counts = context.counts
    parts = item.exchange.entries if item.exchange else (item,)
    hidden = item.exchange is not None and context.dropped(item.exchange)
    by_kind = dict.fromkeys(_KINDS.values(), NOTHING)
    pruned = prunable = 0
    shown = NOTHING
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
    carried = total(carry_cost.carried(entry, context) for entry in parts)
    memos = sum(map(counts.memo_tokens, context.memos_at(item.exchange))) if item.exchange else 0
    return Sums(
        by_kind["user"],
        by_kind["results"],
        by_kind["notes"].plus(Amount(memos)),
        shown.plus(Amount(memos)),
        total(map(counts.amount, parts)),
        carried.minus(shown.times(carry_cost.requests)),
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


def cut_away(context: Context, carry_cost: CarryCost, entry: Entry, part: Key) -> tuple[Amount, Amount]:
    """Return the tokens that cuts keep out of the calls of an answer, and how many of them requests did not carry."""
    is_shown = part.kind == "calls" and entry.exchange and not context.dropped(entry.exchange)
    stack = context.edits_of(entry.seq) if is_shown else ()
    edits = [(prun, edit) for prun, edit in stack if edit.kind == "cut"]
    gone = [context.counts.cut_away(entry, edit) for _, edit in edits]
    spared = (one.times(carry_cost.since(prun)) for one, (prun, _) in zip(gone, edits, strict=True))
    return total(gone), total(spared)


class ToolSum(NamedTuple):
    """Results of one tool, in tokens as the endpoint counts them.

    `base` and `tokens` give the carried tokens, as in `measured.Sums`, without those `spared` because the endpoint
    cleared them. `cleared` is the part that the endpoint is expected to clear from the next request.
    """

    results: int = 0
    pruned: int = 0
    tokens: int = 0
    original: int = 0
    base: int = 0
    cleared: int = 0
    spared: int = 0

    @property
    def left(self) -> int:
        """The tokens that the model sees in the next request."""
        return max(0, self.tokens - self.cleared)

    def carried(self, requests: int) -> int:
        """Return the carried tokens: each token times the requests that included it."""
        return max(0, self.base + self.tokens * requests - self.spared)


class ToolTotals:
    """Sums by tool over all counted items; counting an item again replaces its part."""

    def __init__(self) -> None:
        self._items: dict[int, dict[str, Sums]] = {}
        self._totals: dict[str, Sums] = {}

    def count(self, context: Context, carry_cost: CarryCost, item: Entry) -> None:
        """Count a user message, a summary, or an exchange by its head."""
        for name, old in self._items.pop(item.seq, {}).items():
            self._totals[name] = self._totals[name].minus(old)
        parts = item.exchange.results if item.exchange else [item] if item.prunable else []
        if not parts:
            return
        found = self._items[item.seq] = dict[str, Sums]()
        for entry in parts:
            name = _name(entry)
            found[name] = found.get(name, NO_SUMS).plus(_sums(context, carry_cost, entry))
        for name, new in found.items():
            self._totals[name] = self._totals.get(name, NO_SUMS).plus(new)

    def largest_first(self, context: Context, spared: Mapping[int, int]) -> list[tuple[str, ToolSum]]:
        """Return each tool with its sums in the endpoint's tokens, largest in the next request first.

        `spared`: tokens that requests did not carry because the endpoint cleared them, by entry.
        """
        tokens, cleared = context.counts.scale.tokens, _by_tool(context, context.counts.cleared)
        not_carried = _by_tool(context, spared)
        there = [
            (
                name,
                ToolSum(
                    one.prunable,
                    one.pruned,
                    tokens(*one.shown),
                    tokens(*one.whole),
                    tokens(*one.base),
                    cleared[name],
                    not_carried[name],
                ),
            )
            for name, one in self._totals.items()
            if one.prunable
        ]
        return sorted(there, key=lambda one: (-one[1].left, -one[1].original, one[0]))


def _by_tool(context: Context, tokens: Mapping[int, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for seq, many in tokens.items():
        if (entry := context.entries[seq]).prunable:
            found[_name(entry)] += many
    return found


def _name(entry: Entry) -> str:
    """Return the tool of a result; for other entries, what they are, because no call of the model made them."""
    if entry.kind == "result":
        return entry.tool_name
    if entry.is_attached:
        return "attachments"
    return "your commands" if entry.call else "notices"


def _sums(context: Context, carry_cost: CarryCost, entry: Entry) -> Sums:
    counts, edit = context.counts, context.text_edit(entry.seq)
    hidden = entry.exchange is not None and context.dropped(entry.exchange)
    shown = NOTHING if hidden else counts.amount(entry, edit)
    base = carry_cost.carried(entry, context).minus(shown.times(carry_cost.requests))
    pruned = int(hidden or edit is not None)
    return Sums(shown=shown, whole=counts.amount(entry), base=base, prunable=1, pruned=pruned)
