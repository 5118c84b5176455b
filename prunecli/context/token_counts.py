"""Running sums over the working context: raw tokens, characters and images.

All displayed figures are based on these sums. Each changed item is counted again. Tokens are counted on first use, so
that folding a long log needs no tokenizer. Results of prunecli's own sessions have their count in the log.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from prunecli.context.clearing import NO_CLEARING, Clearing, shares, sum_of
from prunecli.context.counted import Changes, EntryTokens, FactorOf, Item, Report, added_by, fresh, parts_of
from prunecli.context.exchange import Entry
from prunecli.context.kept_out import KeptOut
from prunecli.context.lengths import Length, Lengths
from prunecli.context.tokens import NOTHING, Amount, Scale, TokenCounter, from_bytes, total
from prunecli.model.edits import Edit
from prunecli.model.requests import Preamble


class TokenCounts(EntryTokens):
    """The sums over the items in the next request, and over the content withheld from it.

    Unless `billed`, `kept_out` is not known.
    """

    def __init__(self, counter: TokenCounter, factor_of: FactorOf, *, billed: bool = True) -> None:
        super().__init__(counter, factor_of)
        self._billed = billed
        self.factor = 1.0
        self._preamble_raw = 0
        self._kept_out = KeptOut(self)
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
        self._lengths = Lengths(self.shown_chars)
        self.moved = set[int]()
        """The items that may have changed. `Prefixes` clears it."""
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
    ) -> None:
        """Count an item that is new or changed.

        Only `countable` items enter scanned and withheld. The model does not see the thinking of a `silent` answer.
        """
        self._put(head.seq, Item(head, parts_of(head), edits, memos, hidden, countable, silent))
        self._uncounted[head.seq] = None

    def _put(self, seq: int, item: Item | None) -> None:
        old = self.items.get(seq)
        self._shares = self._shown = None
        self.moved.add(seq)
        self._lengths.changed.add(seq)
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
        """Reset to these items after a compaction; none of them counts as scanned or withheld."""
        for seq, item in list(self.items.items()):
            if seq not in present:
                self._put(seq, None)
                self._uncounted.pop(seq, None)
                continue
            self._put(seq, kept := replace(item, countable=False, scanned=NOTHING, withheld=NOTHING))
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
        self._news.append(Report(response, prompt_tokens, changes, clearing, again=self._left is not None))

    def attempted(self, response: int) -> None:
        """Record that the last request was billed without an answer. It stays the last request."""
        self._news.append(Report(response, 0, _changes(self._since, self._at_sent), NO_CLEARING))

    def settle(self) -> None:
        """Take in the reports since the last time."""
        waiting, self._news = self._news, []  # counting a document asks for what was learned before
        for news in waiting:
            match news:
                case Report(prompt=0):
                    self._kept_out.attempted(news, self._scale)
                case Report():
                    self._learn(news)
                case int(preamble):
                    self._scale, self._prompt = self._scale.for_preamble(preamble), 0
                case (float(factor), int(at)):
                    self._scale, self._prompt, self._model_at = self._scale.for_model(factor), 0, at
                    self._kept_out.rescaled(at, self._scale)
                case None:
                    self._reported, self._prompt, self._clearing = NOTHING, 0, NO_CLEARING
                    self._kept_out.clear()
        self._shares = None

    def _learn(self, report: Report) -> None:
        """Update the scale from a report on the prompt as sent, not on the endpoint's own shorter copy."""
        self._clearing, changes = report.clearing, report.changes
        prompt = report.prompt + self._clearing.tokens
        grown = prompt - self._prompt if self._prompt and not report.again else None
        altered = [(then, now) for then, now in changes if now is None or (then and not now.grew_from(then))]
        moved = added_by(changes, self.item_amount)
        new = fresh(changes) if grown is not None and (self._billed or self._has_media) else []
        if grown is not None and new and self.measure_documents(changes, new, grown, moved, self._scale):
            for item in filter(None, (self.items.get(now.head.seq) for _, now in changes if now)):
                item.forget()
                self._uncounted[item.head.seq] = None
            moved = added_by(changes, self.item_amount)
        if grown is not None and not altered:
            self._scale = self._scale.grew(grown, moved)
        if self._billed:
            self._kept_out.reported(report, altered, new, grown, moved, self._scale)
        self._reported, self._prompt, self._shown = self._reported.plus(moved), prompt, None
        if report.response >= self._model_at:  # not by another model
            self._scale = self._scale.reported(prompt, self._reported)

    # Reading -------------------------------------------------------------------------------------------------

    def media_tokens(self, entry: Entry) -> int:
        """Return the tokens of an entry's images and documents, measured if possible."""
        self.settle()
        return super().media_tokens(entry)

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
        """The tokens that the endpoint cleared from the last request, by entry, except those removed since."""
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

    def told_at(self, raw: int, response: int) -> int:
        """Return the raw tokens of the text as the endpoint counted them in the request of this response."""
        return round(self._kept_out.scale_at(response, self.scale).weight(raw, 0, 0))

    def shown_amount(self, entry: Entry, edit: Edit | None = None) -> Amount:
        """Return the tokens of an entry under an edit or as is, without thinking that the model does not see."""
        item = self.items.get(entry.seq)
        return self.amount(entry, edit, silent=item is not None and item.silent)

    def kept_out(self, response: int, thinking: Amount = NOTHING) -> int:
        """Return the tokens kept out of the request of this response, with this thinking, as counted then."""
        scale = self._kept_out.scale_at(response, self.scale)
        return round(scale.weight(*self._kept_out.at(response).plus(thinking)))

    @property
    def length(self) -> Length:
        """The characters and images of all messages."""
        return self._lengths.of(self.items)

    @property
    def scanned(self) -> Amount:
        """The originals since the compaction boundary: all tool results, and other content that prunes withhold."""
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
        return [one for item in items for one in item.parts if not known(one, item.edits, silent=item.silent)]

    def _count(self) -> None:
        self.settle()  # a report may tell the size of a document, so that more is to be counted
        for seq in self._uncounted:
            item = self.items[seq]
            self._add(item, -1)
            memos = sum(map(self.memo_tokens, item.memos))
            item.fixed = memos
            if item.head.exchange is None:
                item.fixed += self.shown_tokens(item.head, item.edits.get(seq))
            if item.countable:
                scanned = [part for part in item.parts if part.prunable or item.hides(part)]
                item.scanned = total(map(self.amount, scanned))
                if item.hidden or item.edits or item.memos:
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


def summarizing(counts: TokenCounts, response: int, left: Iterable[int]) -> None:
    """Record a request for a summary of the current content, without the items that it left out."""
    since, items = counts._since, counts.items
    now = {seq: items.get(seq) for seq in since} | dict.fromkeys(left)
    changes = ((since.get(seq, items.get(seq)), item) for seq, item in now.items())
    counts._news.append(Report(response, 0, tuple(changes), NO_CLEARING))


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
