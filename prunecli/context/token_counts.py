"""Running sums over the working context: raw tokens, characters and images, each changed item counted again.

They feed the one ledger and everything else that is shown. Tokens are counted when they are first asked for, so that
folding a long log needs no tokenizer; the results of this program's own sessions carry their count in the log.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from prunecli.context.exchange import Entry, result_tokens
from prunecli.context.tokens import NOTHING, Amount, Scale, TokenCounter, from_bytes, total
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, Event, ToolResult
from prunecli.model.messages import Json
from prunecli.model.requests import Preamble

SHIPPED = "tiktoken"
"""The name of the counter whose counts the log holds."""
_WORDS = ("user", "summary")
"""Kinds of entries whose tokens are estimated from their bytes: no strategy prunes them."""


@dataclass(slots=True, eq=False)
class _Item:
    """What an item of the context shows at some moment. Only its sums are filled in later."""

    head: Entry
    parts: tuple[Entry, ...]
    edits: Mapping[int, Edit]
    memos: Sequence[Edit]
    hidden: bool
    countable: bool
    chars: int = 0
    images: int = 0
    amount: Amount | None = None
    scanned: Amount = NOTHING
    withheld: Amount = NOTHING
    fixed: int = 0

    def grew_from(self, then: "_Item | None") -> bool:
        """Whether what it showed `then` stands in it unchanged."""
        return then is None or (then.edits, then.memos, then.hidden) == (self.edits, self.memos, self.hidden)


@dataclass(frozen=True, slots=True)
class _Report:
    """A prompt that the endpoint reported, and what had changed since the report before: items then and now."""

    prompt: int
    changes: tuple[tuple[_Item | None, _Item | None], ...]


class TokenCounts:
    """Sums over the items that the next request shows, and over what is withheld from it. `factor_of` gives a model's
    tokens for one raw token as far as its name tells."""

    def __init__(self, counter: TokenCounter, factor_of: Callable[[str], float]) -> None:
        self.counter = counter
        self._factor_of = factor_of
        self.factor = 1.0
        self._preamble_raw = 0
        self.clear()

    def clear(self) -> None:
        """Forgets all items and reports; system prompt and tools stay."""
        self._scale = Scale.of(self.factor, self._preamble_raw)
        self._items: dict[int, _Item] = {}
        self._uncounted: dict[int, None] = {}
        self._news: list[_Report | int | float] = []
        self._since: dict[int, _Item | None] = {}
        self._at_sent: dict[int, _Item | None] | None = None
        self._since_sent: dict[int, _Item | None] = {}
        self._reported, self._prompt = NOTHING, 0
        self._scanned = self._withheld = NOTHING
        self.chars = self.images = self._fixed = 0

    # Writing -------------------------------------------------------------------------------------------------

    def model(self, name: str) -> None:
        """This model answers from now on."""
        factor = float(self._factor_of(name))
        if factor != self.factor:
            self.factor = factor
            self._news.append(factor)

    def setting(self, key: str, value: Json) -> None:
        """A setting of the session changed: the model's name concerns this."""
        if key == "model.name":
            self.model(str(value))

    def preamble(self, preamble: Preamble) -> None:
        """System prompt and tool schemas changed."""
        self._preamble_raw = from_bytes(sum(map(len, (*preamble.system, *preamble.tools))))
        self._news.append(self._preamble_raw)

    def weigh(
        self, head: Entry, edits: Mapping[int, Edit], memos: Sequence[Edit], *, hidden: bool, countable: bool
    ) -> None:
        """An item is new or shows something else now. Only `countable` items enter scanned and withheld."""
        item = _Item(head, _parts(head), edits, memos, hidden, countable)
        if not hidden:
            item.chars = sum([self.shown_chars(entry, edits.get(entry.seq)) for entry in item.parts])
            item.images = sum(
                [entry.images for entry in item.parts if entry.size[2] and entry.seq not in edits]
            )
        self._put(head.seq, item)
        self._uncounted[head.seq] = None

    def _put(self, seq: int, item: _Item | None) -> None:
        old = self._items.pop(seq, None)
        self._since.setdefault(seq, old)
        self._since_sent.setdefault(seq, old)
        if old is not None:
            self._add(old, -1)
        if item is not None:
            self._items[seq] = item
            self._add(item, 1)

    def _add(self, item: _Item, sign: int) -> None:
        self.chars += sign * item.chars
        self.images += sign * item.images
        self._scanned = self._scanned.plus(item.scanned.times(sign))
        self._withheld = self._withheld.plus(item.withheld.times(sign))
        self._fixed += sign * item.fixed

    def keep(self, present: Container[int]) -> None:
        """After a compaction: only these items are shown, and none of them counts as scanned or withheld."""
        for seq, item in list(self._items.items()):
            if seq not in present:
                self._put(seq, None)
                self._uncounted.pop(seq, None)
                continue
            self._add(item, -1)
            item.countable, item.scanned, item.withheld = False, NOTHING, NOTHING
            self._add(item, 1)

    def sent(self) -> None:
        """A request goes out with what is shown now."""
        self._at_sent = {seq: self._items.get(seq) for seq in self._since}
        self._since_sent = {}

    def answering(self) -> None:
        """A response is about to be added. Where no request was recorded it answers what is shown now."""
        if self._at_sent is None:
            self.sent()

    def reported(self, prompt_tokens: int) -> None:
        """The endpoint said what the request sent last was."""
        at_sent, self._at_sent = self._at_sent or {}, None
        if prompt_tokens <= 0:
            return
        changes = tuple((self._since[seq], now) for seq, now in at_sent.items())
        self._since, self._since_sent = self._since_sent, {}
        self._news.append(_Report(prompt_tokens, changes))
        if all(self._is_counted(item) for change in changes for item in change if item is not None):
            self._settle()

    def _is_counted(self, item: _Item) -> bool:
        """Whether its tokens are known without counting a text of a tool or the model."""
        return (
            item.amount is not None
            or item.hidden
            or all(self._is_known(part, item.edits) for part in item.parts)
        )

    def _is_known(self, entry: Entry, edits: Mapping[int, Edit]) -> bool:
        return entry.tokens >= 0 or entry.seq in edits or entry.kind in _WORDS or output_tokens(entry) > 0

    def _settle(self) -> None:
        """Learns from what was reported since the last time."""
        for news in self._news:
            match news:
                case int(preamble):
                    self._scale, self._prompt = self._scale.for_preamble(preamble), 0
                case float(factor):
                    self._scale, self._prompt = self._scale.for_model(factor), 0
                case _Report(prompt, changes):
                    self._learn(prompt, changes)
        self._news.clear()

    def _learn(self, prompt: int, changes: tuple[tuple[_Item | None, _Item | None], ...]) -> None:
        moved = total(self._moved(then, now) for then, now in changes)
        if self._prompt and all(now is not None and now.grew_from(then) for then, now in changes):
            self._scale = self._scale.grew(prompt - self._prompt, moved)
        self._reported, self._prompt = self._reported.plus(moved), prompt
        self._scale = self._scale.reported(prompt, self._reported)

    def _moved(self, then: _Item | None, now: _Item | None) -> Amount:
        return self._amount(now).minus(self._amount(then))

    # Reading -------------------------------------------------------------------------------------------------

    @property
    def scale(self) -> Scale:
        """How the endpoint counts, as far as it has reported."""
        if self._news:
            self._settle()
        return self._scale

    @property
    def shown(self) -> Amount:
        """What all messages of the next request take."""
        if self._news:
            self._settle()
        moved = (self._moved(then, self._items.get(seq)) for seq, then in self._since.items())
        return self._reported.plus(total(moved))

    @property
    def context_tokens(self) -> int:
        """Tokens of the whole next request with system and tools, as the endpoint counts them."""
        return self.scale.total(*self.shown)

    @property
    def fixed(self) -> int:
        """Tokens of `context_tokens` that stand before the messages: system prompt and tools."""
        return round(self.scale.fixed)

    def tokens_of(self, items: Iterable[Entry]) -> int:
        """Tokens of `context_tokens` that these items take now."""
        return self.scale.tokens(*self.amount_of(items))

    def amount_of(self, items: Iterable[Entry]) -> Amount:
        """What these items take now."""
        return total(self._amount(self._items.get(item.seq)) for item in items)

    def told(self, entry: Entry) -> int | None:
        """Tokens of an entry's original as the endpoint counts them; None while its text is not counted yet."""
        if self.counter.name != "chars4" and not self._is_known(entry, {}):
            return None
        return self.scale.tokens(*self.amount(entry))

    def told_raw(self, raw: int) -> int:
        """Raw tokens, of an edit say, as the endpoint counts them."""
        return self.scale.tokens(raw)

    def amount_as(
        self, head: Entry, edits: Mapping[int, Edit], memos: Sequence[Edit], *, hidden: bool
    ) -> Amount:
        """What an item would take so edited."""
        return self._amount(_Item(head, _parts(head), edits, memos, hidden, countable=False))

    def amount(self, entry: Entry, edit: Edit | None = None) -> Amount:
        """What an entry takes under an edit, or as it is."""
        if edit is None and (output := output_tokens(entry)):
            return Amount(exact=output)
        tokens = self.shown_tokens(entry, edit)
        return Amount(words=tokens) if entry.kind in _WORDS else Amount(tokens)

    @property
    def scanned(self) -> Amount:
        """What strategies look at since the compaction boundary: the originals of all tool results, edited or not,
        and of whatever else prunes withhold now."""
        self._count()
        return self._scanned

    @property
    def pruned(self) -> Amount:
        """Net amount withheld from the working context now, each once; memos and placeholders subtracted."""
        self._count()
        return self._withheld

    @property
    def fixed_tokens(self) -> int:
        """Raw estimate of system prompt, tools, the user's messages, memos and summaries."""
        self._count()
        return self._preamble_raw + self._fixed

    def shown_chars(self, entry: Entry, edit: Edit | None) -> int:
        """Characters that an entry shows, images aside: of an answer its text, thinking and inputs as JSON."""
        if edit is not None:
            return sum(map(len, [*entry.typed, edit.text or ""]))
        names = (
            sum([len(call.name) for call in entry.exchange.calls])
            if entry.kind == "assistant" and entry.exchange
            else 0
        )
        return entry.size[0] - names

    def with_tokens(self, event: Event) -> Event:
        """A result that has no count yet with its count for the log, where that is at hand; any other event as is."""
        ready = self.counter.name == SHIPPED and getattr(self.counter, "ready", True)
        if not ready or not isinstance(event, ToolResult) or event.tokens is not None:
            return event
        return replace(event, tokens=result_tokens(event.content, self.counter.count))

    def recorded(self, entry: Entry, tokens: int | None) -> None:
        """The log holds the entry's count by the shipped tokenizer."""
        if tokens is not None and self.counter.name == SHIPPED:
            entry.tokens = tokens

    def tokens(self, entry: Entry) -> int:
        """Raw estimate of the entry's original."""
        if entry.tokens < 0:
            count = (
                _from_words if entry.kind in _WORDS and self.counter.name != "chars4" else self.counter.count
            )
            entry.tokens = sum(map(count, entry.countable)) + entry.image_tokens
        return entry.tokens

    @property
    def uncounted(self) -> list[Entry]:
        """Entries whose texts have to be counted before the sums over everything are known: worth doing in a thread
        where they are many or large."""
        items = [self._items[seq] for seq in self._uncounted]
        return [entry for item in items for entry in item.parts if not self._is_known(entry, item.edits)]

    def shown_tokens(self, entry: Entry, edit: Edit | None) -> int:
        """Raw estimate of what an entry shows under an edit, or as it is. A recorded edit carries its count."""
        if edit is None:
            return self.tokens(entry)
        if edit.tokens_after and self.counter.name == SHIPPED:
            return edit.tokens_after
        return sum(map(self.counter.count, [*entry.typed, edit.text or ""]))

    def _amount(self, item: _Item | None) -> Amount:
        if item is None:
            return NOTHING
        if item.amount is None:
            memos = Amount(sum(map(self.memo_tokens, item.memos)))
            shown = () if item.hidden else item.parts
            item.amount = total((memos, *(self.amount(one, item.edits.get(one.seq)) for one in shown)))
        return item.amount

    def _count(self) -> None:
        for seq in self._uncounted:
            item = self._items[seq]
            self._add(item, -1)
            memos = sum(map(self.memo_tokens, item.memos))
            item.fixed = memos
            if item.head.exchange is None:
                item.fixed += self.shown_tokens(item.head, item.edits.get(seq))
            if item.countable:
                gone = [part for part in item.parts if item.hidden or part.seq in item.edits]
                scanned = [part for part in item.parts if part.prunable or part in gone]
                item.scanned = total(map(self.amount, scanned))
                item.withheld = total(map(self.amount, gone)).minus(Amount(memos))
                if not item.hidden:
                    shown = total(self.amount(part, item.edits[part.seq]) for part in gone)
                    item.withheld = item.withheld.minus(shown)
            self._add(item, 1)
        self._uncounted.clear()

    def memo_tokens(self, memo: Edit) -> int:
        """Raw tokens of a memo. A recorded one carries its count."""
        recorded = memo.tokens_after if self.counter.name == SHIPPED else 0
        return recorded or self.counter.count(memo.text or "")


def output_tokens(entry: Entry) -> int:
    """Output tokens of an answer as the endpoint reported them, hidden thinking included; 0 where there is no report
    that can be one. (Some agents' files have the count of a stream's beginning.)"""
    event = entry.event
    if not isinstance(event, AssistantMessage) or event.usage.output_tokens * 10 < entry.size[0]:
        return 0
    return event.usage.output_tokens


def words_of(text: str) -> Amount:
    """What words that nobody has counted take: a prompt, or a summary."""
    return Amount(words=_from_words(text))


def _from_words(text: str) -> int:
    return from_bytes(len(text.encode("utf-8", "replace")))


def _parts(head: Entry) -> tuple[Entry, ...]:
    return tuple(head.exchange.entries) if head.exchange else (head,)
