"""The tokens of single entries and items, each counted once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple, TypeAlias

from prunecli.context.exchange import Entry, Said
from prunecli.context.inputs import chars_saved, cut_of
from prunecli.context.tokens import (
    NOTHING,
    Amount,
    Sizes,
    TokenCounter,
    from_words,
    result_tokens,
    total,
)
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, Event, ToolResult
from prunecli.model.messages import Text, Thinking, ToolUse, sendable, thinking_blocks

FactorOf: TypeAlias = Callable[[str], float]
"""A function from a model's name to its estimated number of tokens per raw token."""


class Length(NamedTuple):
    """The characters of some content, without images, and the number of its images and documents."""

    chars: int = 0
    images: int = 0


@dataclass(slots=True, eq=False)
class Item:
    """The content of a context item at one moment. Only the sums are filled in later.

    Edits on those kept by a summary count (`countable`) only once one was made since. The model does not see the
    thinking of a `silent` answer; `lost`: because of edits.
    """

    head: Entry
    parts: tuple[Entry, ...]
    edits: Mapping[int, Edit]
    memos: Sequence[Edit]
    hidden: bool
    countable: bool
    silent: bool = False
    lost: bool = False
    amount: Amount | None = None
    length: Length | None = None
    scanned: Amount = NOTHING
    withheld: Amount = NOTHING
    fixed: int = 0
    _planned: "tuple[Sequence[Edit], Item] | None" = None

    def under(self, edits: Sequence[Edit]) -> "Item":
        """Return the item as it would be shown under more clears, trims and drops. The last result is kept, because
        strategies propose the same edits until they are made."""
        if self._planned is None or self._planned[0] != edits:
            hidden = self.hidden or any(edit.kind == "drop" for edit in edits)
            texts = {**self.edits, **{edit.seq: edit for edit in edits if edit.kind not in ("drop", "cut")}}
            if cut := cut_of([*filter(None, [self.edits.get(self.head.seq)]), *edits]):
                texts[self.head.seq] = cut
            silent = self.silent and not hidden
            item = Item(self.head, self.parts, texts, self.memos, hidden, countable=True, silent=silent)
            self._planned = edits, item
        return self._planned[1]

    def hides(self, part: Entry) -> bool:
        """Return whether an edit keeps some or all of this part out of the context."""
        return self.hidden or part.seq in self.edits

    def is_same(self, other: "Item | None") -> bool:
        """Return whether both show the same content, even if one was folded again after a rewind."""
        if other is self:
            return True
        if other is None or len(self.parts) != len(other.parts) or not self._looks_like(other):
            return False
        return [part.seq for part in self.parts] == [part.seq for part in other.parts]

    def _looks_like(self, other: "Item") -> bool:
        if (self.hidden, self.silent, self.lost) != (other.hidden, other.silent, other.lost):
            return False
        return self.edits == other.edits and self.memos == other.memos


def output_tokens(entry: Entry) -> int:
    """Output tokens of an answer as reported, including hidden thinking; 0 if not plausible, or if it is not sent.

    Some agents' files record the count at the start of the stream. That of an interrupted answer, or one that ends
    with thinking, is estimated.
    """
    event = entry.event
    if not isinstance(event, AssistantMessage) or event.stop_reason == "interrupted" or not entry.is_sent:
        return 0
    if len(sendable(event.content)) < len(event.content):
        return 0
    reported = event.usage.output_tokens
    return reported if _most_chars(event) <= 10 * reported or entry.countable_chars <= 10 * reported else 0


def _most_chars(event: AssistantMessage) -> float:
    """Return an upper bound of the countable characters of an answer, without encoding inputs as JSON.

    JSON takes at most twice the characters of Python's notation, because of quotes and control characters.
    """
    chars = 0
    for block in event.content:
        if isinstance(block, ToolUse):
            chars += len(block.name) + 2 * len(str(block.input))
        elif isinstance(block, Text):
            chars += len(block.text)
        elif isinstance(block, Thinking):
            chars += len(block.thinking)
        else:
            return inf
    return chars


def reported_thinking(entry: Entry) -> int | None:
    """Reported tokens of an answer's thinking; 0 without thinking."""
    event, output = entry.event, output_tokens(entry)
    if not output or not isinstance(event, AssistantMessage):
        return None
    return event.thinking_tokens if thinking_blocks(event.content) else 0


def parts_of(head: Entry) -> tuple[Entry, ...]:
    """Return the entries of an item: itself, and the results of its calls."""
    return tuple(head.exchange.entries) if head.exchange else (head,)


SHIPPED = "tiktoken"
"""The name of the counter whose counts are in the log."""
WORDS = ("user", "summary")
"""Kinds of entries whose tokens are estimated from bytes, because strategies never prune them."""


def _estimate(entry: Entry, tokens: int) -> Amount:
    return Amount(0, 0, tokens) if entry.kind in WORDS else Amount(tokens)


class EntryTokens:
    """A counter for the tokens of single entries.

    `sizes_of` gives the sizes of content that several contexts have, None if there is only this one.
    """

    sizes_of: Callable[[Said], Sizes] | None = None

    def __init__(self, counter: TokenCounter, factor_of: FactorOf) -> None:
        self.counter = counter
        self._factor_of = factor_of

    def thinking(self, entry: Entry) -> Amount:
        """Return the tokens of an answer's thinking, if the model sees it."""
        return self.amount(entry).minus(self.amount(entry, silent=True))

    def amount(self, entry: Entry, edit: Edit | None = None, *, silent: bool = False) -> Amount:
        """Return the tokens of an entry under an edit or as is, with or without an answer's thinking."""
        if edit is not None and edit.kind != "cut":
            return _estimate(entry, self.shown_tokens(entry, edit))
        if edit is not None:
            whole, saved = self.amount(entry, silent=silent), self.cut_away(entry, edit)
            return Amount(max(0, whole.raw - saved.raw), max(0, whole.exact - saved.exact))
        if silent and isinstance(entry.event, AssistantMessage):
            return self._spoken(entry, entry.event, output_tokens(entry))
        return entry.sizes.amount or self._original(entry)

    def _original(self, entry: Entry) -> Amount:
        """Return the tokens of an entry as is. They are stored."""
        if isinstance(entry.event, AssistantMessage) and (output := output_tokens(entry)):
            found = Amount(0, output)
        elif media := entry.image_tokens:
            tokens = max(0, self.tokens(entry) - media)
            found = Amount(0, media, tokens) if entry.kind in WORDS else Amount(tokens, media)
        else:
            found = _estimate(entry, self.tokens(entry))
        entry.sizes.amount = found
        return found

    def _spoken(self, entry: Entry, event: AssistantMessage, output: int) -> Amount:
        """Return the tokens of an answer without its thinking: the rest of the reported tokens, or an estimate."""
        if (thinking := reported_thinking(entry)) is not None:
            return Amount(exact=max(0, output - thinking))
        if entry.sizes.spoken_tokens < 0:
            entry.sizes.spoken_tokens = sum(map(self.counter.count, entry.spoken))
        if not output:
            return Amount(min(entry.sizes.spoken_tokens, self.tokens(entry)))
        return Amount(exact=min(output, round(self._factor_of(event.model) * entry.sizes.spoken_tokens)))

    def cut_away(self, entry: Entry, edit: Edit) -> Amount:
        """Return the tokens that cuts keep out of an answer, whose own were reported or are estimated."""
        saved = max(0, edit.tokens_saved)
        if isinstance(entry.event, AssistantMessage) and self.amount(entry).exact:
            return Amount(exact=round(self._factor_of(entry.event.model) * saved))
        return Amount(saved)

    def saved_by(self, edits: Iterable[Edit], entries: Mapping[int, Entry]) -> Amount:
        """Return the tokens that these edits save, by their own counts."""
        saved = images = 0
        for edit in edits:
            if edit.kind == "cut" and edit.seq in entries:
                raw, exact, _ = self.cut_away(entries[edit.seq], edit)
                saved, images = saved + raw + exact, images + exact
                continue
            saved += edit.tokens_saved
            if edit.kind in ("clear", "trim") and edit.seq in entries:
                images += min(max(0, edit.tokens_saved), entries[edit.seq].image_tokens)
        return Amount(saved - images, images)

    def shown_chars(self, entry: Entry, edit: Edit | None) -> int:
        """Return the characters shown of an entry, without images. For an answer: text, thinking and inputs as
        JSON."""
        if edit is not None and edit.kind != "cut":
            return sum(map(len, [*entry.typed, edit.text or ""]))
        names = (
            sum([len(call.name) for call in entry.exchange.calls])
            if entry.kind == "assistant" and entry.exchange
            else 0
        )
        return entry.countable_chars - names - (chars_saved(entry, edit) if edit else 0)

    def enter(self, entry: Entry, tokens: int | None = None) -> None:
        """Give a new entry its shared sizes, and its count from the log, if the shipped tokenizer made it."""
        if self.sizes_of:
            entry.sizes = self.sizes_of(entry.event)
        if tokens is not None and self.counter.name == SHIPPED:
            entry.sizes.tokens = tokens

    def with_tokens(self, event: Event) -> Event:
        """Return a result with its count added; return other events unchanged."""
        if self.counter.name == SHIPPED and isinstance(event, ToolResult) and event.tokens is None:
            return replace(event, tokens=result_tokens(event.sent, self.counter.count))
        return event

    def tokens(self, entry: Entry) -> int:
        """Return the raw estimate of the entry's original."""
        if entry.sizes.tokens < 0:
            count = (
                from_words if entry.kind in WORDS and self.counter.name != "chars4" else self.counter.count
            )
            entry.sizes.tokens = sum(map(count, entry.countable)) + entry.image_tokens
        return entry.sizes.tokens

    def shown_tokens(self, entry: Entry, edit: Edit | None) -> int:
        """Return the raw estimate of an entry under an edit or as is. A recorded edit carries its count."""
        if edit is None:
            return self.tokens(entry)
        if edit.kind == "cut":
            return max(0, self.tokens(entry) - edit.tokens_saved)
        if edit.tokens_after and self.counter.name == SHIPPED:
            return edit.tokens_after
        return sum(map(self.counter.count, [*entry.typed, edit.text or ""]))

    def is_known(self, entry: Entry, edits: Mapping[int, Edit], *, silent: bool = False) -> bool:
        """Return whether an entry's tokens under these edits are known without counting."""
        edit = edits.get(entry.seq)
        if (edit is not None and edit.kind != "cut") or entry.kind in WORDS:
            return True
        if silent and entry.kind == "assistant":
            return entry.sizes.spoken_tokens >= 0 or reported_thinking(entry) is not None
        return entry.sizes.tokens >= 0 or output_tokens(entry) > 0

    def item_amount(self, item: Item | None) -> Amount:
        """Return the tokens of an item, summed once."""
        if item is None:
            return NOTHING
        if item.amount is None:
            shown, edits = () if item.hidden else item.parts, item.edits
            if edits or item.silent:
                amounts = [self.amount(one, edits.get(one.seq), silent=item.silent) for one in shown]
            else:
                amounts = [one.sizes.amount or self._original(one) for one in shown]
            if item.memos:
                amounts.append(Amount(sum(map(self.memo_tokens, item.memos))))
            item.amount = amounts[0] if len(amounts) == 1 else total(amounts)
        return item.amount

    def withheld_by(self, item: Item) -> Amount:
        """Return the tokens that the edits on an item keep out of the context."""
        gone = [part for part in item.parts if item.hides(part)]
        shown = [] if item.hidden else [self.amount(part, item.edits[part.seq]) for part in gone]
        memos = Amount(sum(map(self.memo_tokens, item.memos)))
        return total(map(self.amount, gone)).minus(total((memos, *shown)))

    def memo_tokens(self, memo: Edit) -> int:
        """Return the raw tokens of a memo. A recorded one carries its count."""
        recorded = memo.tokens_after if self.counter.name == SHIPPED else 0
        return recorded or self.counter.count(memo.text or "")
