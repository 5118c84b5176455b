"""Running sums over the working context: raw tokens, characters and images, and what the endpoint cleared.

All displayed figures are based on these sums. Each changed item is counted again. Tokens are counted on first use, so
that folding a long log needs no tokenizer. Results of prunecli's own sessions have their count in the log.

The endpoint reports how many tokens it cleared from its copy of a request, oldest results first, but not which ones.
They are attributed to the oldest results of the answered request, so that parts still add up to wholes.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from prunecli.context.counted import EntryTokens, FactorOf, Item, Length, parts_of
from prunecli.context.exchange import Entry
from prunecli.context.tokens import NOTHING, Amount, Scale, TokenCounter, from_bytes, total
from prunecli.model.codec import is_count
from prunecli.model.edits import Edit
from prunecli.model.messages import Json
from prunecli.model.requests import Preamble
from prunecli.util.figures import in_tokens


class Clearing(NamedTuple):
    """Tokens and tool uses that the endpoint pruned from one request."""

    tokens: int = 0
    tool_uses: int = 0

    @property
    def words(self) -> str:
        """A one-line summary for the user."""
        uses = f"{self.tool_uses} tool use{'s' * (self.tool_uses != 1)}"
        return f"endpoint pruned {uses}, ~{in_tokens(self.tokens)}"


NO_CLEARING = Clearing()


def clearing_of(applied_edits: Sequence[Mapping[str, Json]] | None) -> Clearing:
    """Sum the edits that a response reports, including unknown kinds with the same figures."""
    if not applied_edits:
        return NO_CLEARING
    return Clearing(_sum(applied_edits, "cleared_input_tokens"), _sum(applied_edits, "cleared_tool_uses"))


def _sum(edits: Sequence[Mapping[str, Json]], key: str) -> int:
    found = (edit.get(key) for edit in edits)
    return sum(filter(is_count, found))


Tokens: TypeAlias = Callable[[Entry, Edit | None], int]
"""Tokens of an entry under an edit, as the endpoint counts them."""


def shares(cleared: int, items: Iterable[tuple[Item | None, Item | None]], tokens: Tokens) -> dict[int, int]:
    """Attribute cleared tokens to entries, by seq.

    `items` are pairs (as sent, as shown now), oldest first. Content pruned since then can't be cleared again. Costs
    O(items cleared).
    """
    found: dict[int, int] = {}
    left, answers = cleared, list[tuple[Entry, Item, Item | None]]()

    def lay(part: Entry, then: Item, now: Item | None) -> None:
        nonlocal left
        share = min(left, tokens(part, then.edits.get(part.seq)))
        left -= share
        found[part.seq] = under(share, part, now, tokens)

    for then, now in items:
        if left <= 0:
            break
        if then is None or then.hidden:
            continue
        for part in then.parts:
            if part.kind == "result":
                lay(part, then, now)
            elif part.kind == "assistant":
                answers.append((part, then, now))
    for part, then, now in answers:  # call arguments are cleared too
        lay(part, then, now)
    return found


def under(share: int, part: Entry, now: Item | None, tokens: Tokens) -> int:
    """Return the part of a share that remains if the item is shown in this way."""
    if now is None or now.hidden:
        return 0
    return min(share, tokens(part, now.edits.get(part.seq)))


def sum_of(cleared: Mapping[int, int], items: Iterable[Entry]) -> int:
    """Return the cleared tokens of these context items, by their heads."""
    if not cleared:
        return 0
    parts = (part for item in items for part in (item.exchange.entries if item.exchange else (item,)))
    return sum(cleared.get(part.seq, 0) for part in parts)


Changes: TypeAlias = Sequence[tuple[Item | None, Item | None]]
"""Changed items, each before and after the change."""


class Report(NamedTuple):
    """A prompt, as `response` reported it, the changes since the previous report, and the content that the endpoint
    cleared from its copy."""

    response: int
    prompt: int
    changes: Changes
    clearing: Clearing


def added_by(changes: Changes, amount_of: Callable[[Item], Amount]) -> Amount:
    """Return the tokens that changes of items added, each a pair of before and after."""
    raw = exact = words = 0
    for then, now in changes:
        if now is not None:
            more = amount_of(now)
            raw, exact, words = raw + more[0], exact + more[1], words + more[2]
        if then is not None:
            less = amount_of(then)
            raw, exact, words = raw - less[0], exact - less[1], words - less[2]
    return Amount(raw, exact, words)


class Absent(NamedTuple):
    """What the messages would also contain: pruned content, and the parts of long results that were never sent.
    `again` is content that stands there because it had to be fetched again. In tokens at the ratio of the moment when
    each part left, which later reports do not change: they are about what is still there."""

    pruned: int = 0
    unsent: int = 0
    again: int = 0

    def plus(self, other: "Absent", sign: int = 1) -> "Absent":
        """Return the sum of both, or the difference."""
        return Absent(*(one + sign * two for one, two in zip(self, other, strict=True)))


_ALL_THERE = Absent()


class TokenCounts(EntryTokens):
    """The sums over the items in the next request, and over the content withheld from it."""

    def __init__(self, counter: TokenCounter, factor_of: FactorOf) -> None:
        super().__init__(counter, factor_of)
        self.factor = 1.0
        self._preamble_raw = 0
        self._news: list[Report | int | tuple[float, int] | None] = []
        self._scale = Scale.of(self.factor, self._preamble_raw)
        self._model_at = -1
        self.items: dict[int, Item] = {}
        """The items as they are shown now, by seq."""
        self.since_sent: dict[int, Item | None] = {}
        """The items that changed since the last request, as that one showed them; None if it did not."""
        self._left: dict[int, Item] | None = None
        self._began = False
        self.clear()

    def clear(self) -> None:
        """Forget all items for a rewind, but keep what was learned: the scale, and the tokens kept out of past
        requests."""
        sent = {**self.items, **self.since_sent}
        self._began = self._began or bool(sent)
        self._left = {seq: item for seq, item in sent.items() if item is not None} if self._began else None
        self.items = {}
        self._moved = set[int]()
        """The items whose part of `absent` may have changed."""
        self._absences: dict[int, tuple[Item, Absent]] = {}
        self._absent = _ALL_THERE
        self._uncounted: dict[int, None] = {}
        self._news.append(None)
        self._since: dict[int, Item | None] = {}
        self._at_sent: dict[int, Item | None] = {}
        """The items changed since the last report, as the last request showed them."""
        self._is_asked = False
        self.since_sent = {}
        self._shares: dict[int, int] | None = None
        self._shown: Amount | None = None
        self._scanned = self._withheld = NOTHING
        self._fixed = 0

    # Writing -------------------------------------------------------------------------------------------------

    def model(self, name: str, at: int) -> None:
        """Switch to a model at a record."""
        factor = float(self._factor_of(name))
        if factor != self.factor:
            self.factor = factor
            self._news.append((factor, at))

    def preamble(self, preamble: Preamble) -> None:
        """Set a new system prompt and new tool schemas."""
        self._preamble_raw = from_bytes(sum(map(len, (*preamble.system, *preamble.tools))))
        self._news.append(self._preamble_raw)

    def weigh(
        self,
        head: Entry,
        edits: Mapping[int, Edit],
        memos: Sequence[Edit],
        *,
        hidden: bool,
        countable: bool,
        silent: bool = False,
        lost: bool = False,
    ) -> None:
        """Count an item that is new or changed. Only what was edited in `countable` items enters withheld."""
        self._put(head.seq, Item(head, parts_of(head), edits, memos, hidden, countable, silent, lost))
        self._uncounted[head.seq] = None

    def _put(self, seq: int, item: Item | None) -> None:
        old = self.items.get(seq)
        self._shares = self._shown = None
        self._moved.add(seq)
        self._since.setdefault(seq, old)
        self.since_sent.setdefault(seq, old)
        if old is not None:
            self._add(old, -1)
        if item is not None:
            self.items[seq] = item
        else:
            self.items.pop(seq, None)

    def _add(self, item: Item, sign: int) -> None:
        if item.scanned is not NOTHING:
            self._scanned = self._scanned.plus(item.scanned.times(sign))
        if item.withheld is not NOTHING:
            self._withheld = self._withheld.plus(item.withheld.times(sign))
        self._fixed += sign * item.fixed

    def keep(self, present: Container[int]) -> None:
        """Reset to these items after a compaction; none of them counts as withheld."""
        for seq, item in list(self.items.items()):
            if seq not in present:
                self._put(seq, None)
                self._uncounted.pop(seq, None)
                continue
            self._put(seq, kept := replace(item, countable=False, withheld=NOTHING))
            self._add(kept, 1)

    def sent(self) -> None:
        """Record that a request with the current content was sent."""
        changed = self.since_sent if self._at_sent else self._since
        # After a rewind, an item may differ from the last request, but not from the last report of this branch.
        self._at_sent |= {seq: self.items.get(seq) for seq in changed if seq in self._since}
        self.since_sent, self._is_asked = {}, True

    def rewound(self) -> None:
        """End a rewind: compare with the last request, which was on another branch."""
        sent, self._left = self._left or {}, None
        items = self.items.items()
        self.since_sent = {seq: sent.get(seq) for seq, item in items if not item.is_same(sent.get(seq))}

    def as_sent(self, seq: int) -> None:
        """Record that, according to the endpoint, the last request showed this item as it is now counted."""
        if self._is_asked:
            self._at_sent[seq] = self.items.get(seq)
            self.since_sent.pop(seq, None)

    def answering(self) -> None:
        """Prepare for a response about to be added. Without a recorded request, it answers the current content."""
        if not self._is_asked:
            self.sent()

    def reported(self, prompt_tokens: int, clearing: Clearing = NO_CLEARING, response: int = -1) -> None:
        """Record the endpoint's report on the last request, after it had cleared this much."""
        self._is_asked = False
        if prompt_tokens <= 0:
            return
        changes, self._at_sent = _changes(self._since, self._at_sent), {}
        self._since, self.since_sent, self._shown = self.since_sent, {}, None
        self._news.append(Report(response, prompt_tokens, changes, clearing))

    def settle(self) -> None:
        """Take in the reports since the last time."""
        waiting, self._news = self._news, []  # counting a document asks for what was learned before
        for news in waiting:
            match news:
                case Report():
                    self._learn(news)
                case int(preamble):
                    self._scale, self._prompt = self._scale.for_preamble(preamble), 0
                case (float(factor), int(at)):
                    self._scale, self._prompt, self._model_at = self._scale.for_model(factor), 0, at
                case None:
                    self._reported, self._prompt, self._clearing = NOTHING, 0, NO_CLEARING
        self._shares = None

    def _learn(self, report: Report) -> None:
        """Update the scale from a report on the prompt as sent, not on the endpoint's own shorter copy."""
        self._clearing, self._prompt = report.clearing, report.prompt + report.clearing.tokens
        self._reported, self._shown = self._reported.plus(added_by(report.changes, self.item_amount)), None
        if report.response >= self._model_at:  # not by another model
            self._scale = self._scale.reported(self._prompt, self._reported)

    # Reading -------------------------------------------------------------------------------------------------

    @property
    def scale(self) -> Scale:
        """The scale learned from the reports so far."""
        if self._news:
            self.settle()
        return self._scale

    @property
    def shown(self) -> Amount:
        """Tokens of all messages of the next request."""
        self.settle()
        if self._shown is None:
            changes = [(then, self.items.get(seq)) for seq, then in self._since.items()]
            self._shown = self._reported.plus(added_by(changes, self.item_amount))
        return self._shown

    @property
    def context_tokens(self) -> int:
        """Tokens of the whole next request with system and tools, as the endpoint counts them."""
        return self.scale.total(*self.shown) - sum(self.cleared.values())

    @property
    def is_reported(self) -> bool:
        """Whether the endpoint has counted exactly this context: its last prompt, and the answer to it."""
        if abs(self.scale.total(*self._reported) - self._prompt) > 1 or not self._prompt:
            return False
        return all(_is_told(self, then, self.items.get(seq)) for seq, then in self._since.items())

    @property
    def clearing(self) -> Clearing:
        """The tokens that the endpoint is expected to clear from the next request."""
        tokens = sum(self.cleared.values())
        return Clearing(tokens, self._clearing.tool_uses) if tokens else NO_CLEARING

    @property
    def cleared(self) -> Mapping[int, int]:
        """The tokens that the endpoint pruned from the last request, by entry, except those removed since."""
        scale = self.scale
        if not self._clearing.tokens:
            return {}
        if self._shares is None:
            pairs = _then_and_now(self._since, self.items)
            self._shares = shares(self._clearing.tokens, pairs, lambda *of: scale.tokens(*self.amount(*of)))
        return self._shares

    @property
    def fixed(self) -> int:
        """The part of `context_tokens` before the messages: system prompt and tools."""
        return round(self.scale.fixed)

    def tokens_of(self, items: Iterable[Entry]) -> int:
        """Return the part of `context_tokens` that these items take now."""
        found = list(items)
        return self.scale.tokens(*self.amount_of(found)) - sum_of(self.cleared, found)

    def amount_of(self, items: Iterable[Entry]) -> Amount:
        """Return the tokens of these items now."""
        found = [self.items[item.seq] for item in items if item.seq in self.items]
        return total([item.amount or self.item_amount(item) for item in found])

    def told(self, entry: Entry) -> int | None:
        """Return the tokens of an entry's original as the endpoint counts them; None if not counted yet."""
        is_known = self.counter.name == "chars4" or self.is_known(entry, {})
        return self.scale.tokens(*self.amount(entry)) if is_known else None

    def shown_amount(self, entry: Entry, edit: Edit | None = None) -> Amount:
        """Return the tokens of an entry under an edit or as is, without thinking that the model does not see."""
        item = self.items.get(entry.seq)
        return self.amount(entry, edit, silent=item is not None and item.silent)

    def absent(self, fetched: Mapping[int, int]) -> Absent:
        """Return what the messages lack now; `fetched` are the raw tokens that entries brought back, by seq. Costs
        O(changed items)."""
        for seq in self._moved:
            item = self.items.get(seq)
            shown, before = self._absences.pop(seq, (None, _ALL_THERE))
            now = before if item and item.is_same(shown) else self._absence(item, fetched)
            if item and now is not _ALL_THERE:
                self._absences[seq] = item, now
            if now is not before:
                self._absent = self._absent.plus(now).plus(before, -1)
        self._moved.clear()
        return self._absent

    def absent_upto(self, seq: int) -> int:
        """Return the tokens of pruned and unsent content up to this entry, as of the last `absent`."""
        return sum(one.pruned + one.unsent for head, (_, one) in self._absences.items() if head <= seq)

    def _absence(self, item: Item | None, fetched: Mapping[int, int]) -> Absent:
        if item is None:
            return _ALL_THERE
        pruned = self.withheld_by(item) if item.hidden or item.edits or item.memos else NOTHING
        if item.lost and not item.hidden:
            pruned = pruned.plus(self.thinking(item.head))
        unsent = sum([part.held_tokens for part in item.parts])
        again = sum([fetched.get(part.seq, 0) for part in item.parts]) if fetched else 0
        if not (unsent or again or pruned is not NOTHING):
            return _ALL_THERE
        tokens = self.scale.tokens
        return Absent(tokens(*pruned), tokens(unsent), tokens(again))

    @property
    def length(self) -> Length:
        """The characters and images of all messages. Takes O(items)."""
        found = [item.length or self._measured(item) for item in self.items.values()]
        return Length(sum([one.chars for one in found]), sum([one.images for one in found]))

    def _measured(self, item: Item) -> Length:
        shown, edits = () if item.hidden else item.parts, item.edits
        chars = sum([self.shown_chars(part, edits.get(part.seq)) for part in shown])
        images = sum([part.images for part in item.parts if not item.hides(part) and part.image_tokens])
        item.length = Length(chars, images)
        return item.length

    @property
    def scanned(self) -> Amount:
        """The originals of all answers and tool results that no summary replaced, whatever prunes withhold."""
        self._count()
        return self._scanned

    @property
    def pruned(self) -> Amount:
        """The net tokens withheld from the context, each counted once, minus memos and placeholders."""
        self._count()
        return self._withheld

    @property
    def fixed_tokens(self) -> int:
        """Raw estimate of system prompt, tools, the user's messages, memos and summaries."""
        self._count()
        return self._preamble_raw + self._fixed

    @property
    def uncounted(self) -> list[Entry]:
        """The entries to count before all sums are known. Count them in a thread if they are many or large."""
        items, known = [self.items[seq] for seq in self._uncounted], self.is_known
        return [
            part for item in items for part in item.parts if not known(part, item.edits, silent=item.silent)
        ]

    def _count(self) -> None:
        self.settle()  # a report may tell the size of a document, so that more is to be counted
        for seq in self._uncounted:
            item = self.items[seq]
            self._add(item, -1)
            memos = sum(map(self.memo_tokens, item.memos))
            item.fixed = memos
            if item.head.exchange is None:
                item.fixed += self.shown_tokens(item.head, item.edits.get(seq))
            item.scanned = total([self.amount(part) for part in item.parts if part.is_scanned])
            if item.countable and (item.hidden or item.edits or item.memos):
                item.withheld = self.withheld_by(item)
            self._add(item, 1)
        self._uncounted.clear()

    def withheld_of(self, heads: Iterable[int]) -> Amount:
        """Return the part of `pruned` that these items contribute."""
        found = [self.items[seq] for seq in heads if seq in self.items]
        return total(self.withheld_by(item) for item in found if item.countable)


def _is_told(counts: TokenCounts, then: Item | None, now: Item | None) -> bool:
    """Return whether an item is as in the last report, or an answer to it whose tokens were reported."""
    if then is None and now is not None:
        return now.head.kind == "assistant" and len(now.parts) == 1 and not any(counts.item_amount(now)[::2])
    return now is not None and now.is_same(then)


def _changes(since: Mapping[int, Item | None], sent: Mapping[int, Item | None]) -> Changes:
    """Return the changes from the last report to a request."""
    return [(since[seq], now) for seq, now in sent.items()]


def _then_and_now(
    since: Mapping[int, Item | None], items: Mapping[int, Item]
) -> Iterator[tuple[Item | None, Item | None]]:
    """Yield each item as it was at the last report and as it is now, oldest first. `since` has the changes."""
    gone = [seq for seq, then in since.items() if then and seq not in items]
    for seq in sorted((*gone, *items)) if gone else items:
        now = items.get(seq)
        yield since.get(seq, now), now
