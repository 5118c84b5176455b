"""Running sums over the working context: characters, images and tokens, each changed item counted again.

They feed the one ledger. Tokens are counted when they are first asked for, so that folding a long log needs no
tokenizer.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from prunecli.context.exchange import Entry
from prunecli.context.tokens import Anchor, TokenCounter, anchored, unanchored
from prunecli.model.edits import Edit
from prunecli.model.messages import Usage
from prunecli.model.requests import Preamble

_BLOCK_OVERHEAD = 12
"""Characters that a block costs beside its text: role, type and ids."""


@dataclass(slots=True)
class _Item:
    head: Entry
    edits: Mapping[int, Edit]
    memos: list[str]
    hidden: bool
    countable: bool
    weight: int = 0
    chars: int = 0
    images: int = 0
    scanned: int = 0
    withheld: int = 0
    fixed: int = 0


class Tally:
    """Sums over the items that the next request shows, and over what is withheld from it."""

    def __init__(self, counter: TokenCounter, factor: float) -> None:
        self.counter = counter
        self._factor = factor
        self._preamble_weight = 0
        self._preamble: tuple[bytes, ...] = ()
        self._preamble_tokens = -1
        self.anchor: Anchor = unanchored(factor)
        self.clear()

    def clear(self) -> None:
        """Forgets all items, and a request that was not answered; what the endpoint reported stays."""
        self._sent_weight = 0
        self._items: dict[int, _Item] = {}
        self._uncounted: dict[int, None] = {}
        self._weight = self.chars = self.images = 0
        self._scanned = self._withheld = self._fixed = 0

    # Writing -------------------------------------------------------------------------------------------------

    def preamble(self, preamble: Preamble) -> None:
        """System prompt and tool schemas changed."""
        self._preamble = (*preamble.system, *preamble.tools)
        self._preamble_weight = sum(map(len, self._preamble))
        self._preamble_tokens = -1

    def weigh(
        self, head: Entry, edits: Mapping[int, Edit], memos: list[str], *, hidden: bool, countable: bool
    ) -> None:
        """An item is new or shows something else now. Only `countable` items enter scanned and withheld."""
        if old := self._items.get(head.seq):
            self._add(old, -1)
        item = _Item(head, edits, memos, hidden, countable)
        item.weight = _weight(item)
        if not hidden:
            item.chars = sum([self.shown_chars(entry, edits.get(entry.seq)) for entry in _parts(item)])
            item.images = sum(
                [entry.images for entry in _parts(item) if entry.size[2] and entry.seq not in edits]
            )
        self._add(item, 1)
        self._items[head.seq] = item
        self._uncounted[head.seq] = None

    def _add(self, item: _Item, sign: int) -> None:
        self._weight += sign * item.weight
        self.chars += sign * item.chars
        self.images += sign * item.images
        self._scanned += sign * item.scanned
        self._withheld += sign * item.withheld
        self._fixed += sign * item.fixed

    def keep(self, present: Container[int]) -> None:
        """After a compaction: only these items are shown, and none of them counts as scanned or withheld."""
        for seq, item in list(self._items.items()):
            self._add(item, -1)
            if seq not in present:
                del self._items[seq]
                self._uncounted.pop(seq, None)
                continue
            item.countable, item.scanned, item.withheld = False, 0, 0
            self._add(item, 1)

    def sent(self) -> None:
        """A request goes out with what is shown now."""
        self._sent_weight = self.weight

    def reported(self, usage: Usage) -> None:
        """The endpoint said what the request sent last was."""
        self.anchor = anchored(usage.prompt_tokens, self._sent_weight, self.anchor)
        self._sent_weight = 0

    def recount(self, counter: TokenCounter, known: Mapping[int, int]) -> None:
        """Another counter from now on; `known` gives the tokens of entries that were counted with it already."""
        self.counter = counter
        self._preamble_tokens = -1
        for item in self._items.values():
            for entry in _parts(item):
                entry.tokens = known.get(entry.seq, -1)
            item.scanned = item.withheld = item.fixed = 0
            self._uncounted[item.head.seq] = None
        self._scanned = self._withheld = self._fixed = 0

    # Reading -------------------------------------------------------------------------------------------------

    @property
    def weight(self) -> int:
        """Characters of the next request, an image as four for each of its tokens."""
        return self._weight + self._preamble_weight

    @property
    def context_tokens(self) -> int:
        """Tokens of the whole next request with system and tools, anchored on what was reported last."""
        return self.anchor.estimate(self.weight)

    def tokens_without(self, gone: Iterable[Entry], text: str) -> int:
        """`context_tokens` as it would be with these items replaced by a text."""
        weights = sum(self._items[item.seq].weight for item in gone if item.seq in self._items)
        return self.anchor.estimate(self.weight - weights + len(text) + _BLOCK_OVERHEAD)

    def tokens_of(self, items: Iterable[Entry]) -> int:
        """What these items take of `context_tokens` now."""
        weights = sum(self._items[item.seq].weight for item in items if item.seq in self._items)
        return round(weights * self.anchor.tokens_per_char)

    def weight_of(self, seq: int) -> int:
        """Characters that an item weighs now, 0 for one that is not shown."""
        return self._items[seq].weight if seq in self._items else 0

    def weight_as(self, head: Entry, edits: Mapping[int, Edit], memos: list[str], *, hidden: bool) -> int:
        """Characters that an item would weigh so edited."""
        return _weight(_Item(head, edits, memos, hidden, countable=False))

    @property
    def scanned_tokens(self) -> int:
        """Original tokens of all tool results since the compaction boundary, edited or not."""
        self._count()
        return self._scanned

    @property
    def pruned_tokens(self) -> int:
        """Net tokens withheld from the working context now, each once; memos and placeholders subtracted."""
        self._count()
        return self._withheld

    @property
    def fixed_tokens(self) -> int:
        """Raw estimate of system prompt, tools, the user's messages, memos and summaries."""
        self._count()
        if self._preamble_tokens < 0:
            self._preamble_tokens = sum(self.counter.count(piece.decode()) for piece in self._preamble)
        return self._fixed + self._preamble_tokens

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

    def tokens(self, entry: Entry) -> int:
        """Raw estimate of the entry's original."""
        if entry.tokens < 0:
            entry.tokens = sum(map(self.counter.count, entry.countable)) + entry.image_tokens
        return entry.tokens

    def uncounted(self, chars: int) -> list[Entry]:
        """Entries of at least so many characters that were never counted: worth counting in a thread, before the
        sums over everything are asked for."""
        items = [self._items[seq] for seq in self._uncounted]
        entries = [entry for item in items for entry in _parts(item)]
        return [entry for entry in entries if entry.tokens < 0 and entry.size[0] >= chars]

    def shown_tokens(self, entry: Entry, edit: Edit | None) -> int:
        """Raw estimate of what an entry shows under an edit, or as it is."""
        if edit is None:
            return self.tokens(entry)
        return sum(map(self.counter.count, [*entry.typed, edit.text or ""]))

    def _count(self) -> None:
        for seq in self._uncounted:
            item = self._items[seq]
            before = sum(self.tokens(entry) for entry in _parts(item))
            shown = 0
            if not item.hidden:
                shown = sum(self.shown_tokens(entry, item.edits.get(entry.seq)) for entry in _parts(item))
            memos = sum(map(self.counter.count, item.memos))
            self._add(item, -1)
            if item.countable:
                item.scanned = sum(self.tokens(entry) for entry in _parts(item) if entry.prunable)
                item.withheld = before - shown - memos
            item.fixed = memos + (shown if item.head.exchange is None else 0)
            self._add(item, 1)
        self._uncounted.clear()


def _parts(item: _Item) -> list[Entry]:
    return item.head.exchange.entries if item.head.exchange else [item.head]


def _weight(item: _Item) -> int:
    total = sum(map(len, item.memos))
    if item.hidden:
        return total
    for entry in _parts(item):
        edit = item.edits.get(entry.seq)
        if edit is not None:
            total += len(edit.text or "") + _BLOCK_OVERHEAD
            continue
        chars, texts, image_tokens = entry.size
        total += chars + 4 * image_tokens + _BLOCK_OVERHEAD * max(1, texts)
    return total
