"""The prefixes that the endpoint may still have stored although the last request had changed them.

An undo, a redo or a rewind shows such a prefix again. Then it is read from the cache, if it is not too old and a
breakpoint is near enough: each request has one at its end.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from prunecli.context.counted import Item
from prunecli.context.fold import Fold
from prunecli.context.placing import NOTHING_PLANNED
from prunecli.context.token_counts import item_of
from prunecli.context.wire import SAME_PREFIX
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Usage, thinking_blocks

_MOST = 128
"""Prefixes to remember, so that memory and time do not grow with a session. Most requests add one."""
_NEAR = 19
"""A breakpoint finds a stored prefix that ends at most this many blocks before it."""


@dataclass(slots=True, eq=False)
class Prefix:
    """A stored prefix: its number of items, its tokens, 0 if not reported, and its last use in unix ms."""

    items: int
    tokens: int
    used: int


class Prefixes:
    """The last prefixes that requests stored, on any branch and by any model, by a hash of their content.

    Most requests read all stored prefixes of the current content, so these share the time of the last such request.
    """

    def __init__(self, context: Fold) -> None:
        self._context = context
        self._stored: dict[int, Prefix] = {}
        self._model = ""
        self._kind = 0
        """A hash of what precedes the messages, which no other model reads."""
        self._here: dict[int, int] = {}
        """The keys of the stored prefixes of the current content, by number of items."""
        self._unknown = set[int]()
        """The numbers of items of those without tokens."""
        self._last = self._most = 0
        """The most items, and the most tokens, of those so far."""
        self._joined = 0
        """The number of hashes in `_chain` whose prefixes are in `_here` if they are stored."""
        self._renewed = 0
        """The time at which those with tokens were read, if it is later than theirs."""
        self.clear()

    def clear(self) -> None:
        """Forget the items for a rewind, but not what is stored."""
        self._leave(0)
        self._chain = [0]
        """Hashes of the items as they are shown now: at the start, then after each item."""

    def sent(self, model: str, at: int, marks: tuple[int, ...]) -> None:
        """Record that a request with these breakpoints was sent to a model."""
        self._context.wire.sent(marks)
        self._model = model
        self._store(at)

    def answered(self, usage: Usage, at: int) -> bool:
        """Record what the endpoint read of the last request from its cache. Return whether it reports this."""
        if (read := usage.cache_read_input_tokens) is not None:
            self._read(read, at)
            self._store(at, usage.prompt_tokens - usage.input_tokens)
        return self._context.wire.answered(usage)

    def _read(self, read: int, at: int) -> None:
        """Renew the prefixes that the last request read, and forget those that it should have found."""
        marks = self._context.wire.marks
        end = marks[-1] if marks else 0
        self._upto(end)
        if self._most * SAME_PREFIX <= read and self._last <= end and self._unknown.issubset(marks):
            self._renewed = at  # `_store` renews those at the breakpoints
            return
        self._settle()
        near = self._near(NOTHING_PLANNED, end)[0]
        for items, key in list(self._here.items()):
            one = self._stored[key]
            if items > end or one.used > at:  # a rewind folds old reports again
                continue
            if 0 < one.tokens * SAME_PREFIX <= read:
                one.used = at
            elif items >= near:
                self._forget(key)
            else:  # too far from the end or too old, so a later report says nothing about it
                one.tokens = 0
                self._unknown.discard(items)
        self._most = max((self._stored[key].tokens for key in self._here.values()), default=0)

    def _store(self, at: int, tokens: int = 0) -> None:
        """Record that the endpoint has the content before each breakpoint, and its tokens before the last one."""
        marks = self._context.wire.marks
        for items in marks:
            key = self._key(self._upto(items)[items])
            one = self._stored.pop(key, None) or Prefix(items, 0, at)
            self._stored[key] = one
            one.used = max(at, one.used)
            if tokens and items == marks[-1]:
                one.tokens = tokens
            self._join(items, key)
        while len(self._stored) > _MOST:
            self._forget(next(iter(self._stored)))

    def _forget(self, key: int) -> None:
        one = self._stored.pop(key)
        if self._here.get(one.items) == key:
            del self._here[one.items]
            self._unknown.discard(one.items)

    def _join(self, items: int, key: int) -> None:
        """Add a stored prefix to those of the current content."""
        tokens = self._stored[key].tokens
        self._here[items], self._last, self._most = key, max(self._last, items), max(self._most, tokens)
        (self._unknown.discard if tokens else self._unknown.add)(items)

    def _leave(self, items: int) -> None:
        """Remove the prefixes with so many items or more from those of the current content."""
        self._settle()
        self._here = {count: key for count, key in self._here.items() if count < items}
        self._unknown = {count for count in self._here if not self._stored[self._here[count]].tokens}
        self._last = max(self._here, default=0)
        self._most = max((self._stored[key].tokens for key in self._here.values()), default=0)
        self._joined = min(self._joined, items)

    def _settle(self) -> None:
        """Give each stored prefix its own time of use."""
        for key in self._here.values() if self._renewed else ():
            one = self._stored[key]
            if one.tokens:
                one.used = max(one.used, self._renewed)
        self._renewed = 0

    def longest(self, planned: Mapping[int, Item], same: int, since: int) -> int:
        """Return the number of items in the longest prefix, used since then, that the next request will find stored.

        The request shows some items as `planned`, and the first `same` ones as the last request did: it has a
        breakpoint behind these and one at its end.
        """
        context, kind = self._context, hash((self._context.requested, self._context.preamble))
        self._settle()
        ranges = [self._near(planned, at) for at in (same, len(context.items))]
        alive = {key: one.items for key, one in self._stored.items() if one.used >= since}
        ends = {end for end in alive.values() if any(near <= end <= at for near, at in ranges)}
        first = min((context.position(seq) for seq in planned), default=len(context.items))
        chain = self._upto(0)[: first + 1]
        for item in context.items[len(chain) - 1 : max(ends, default=0)]:
            shown = planned.get(item.seq) or item_of(context.counts, item.seq)
            chain.append(hash((chain[-1], _look(shown))))
        return max((end for end in ends if hash((kind, chain[end])) in alive), default=0)

    def _near(self, planned: Mapping[int, Item], end: int) -> tuple[int, int]:
        """Return the numbers of items in the shortest and the longest prefix that a breakpoint behind so many items
        can find."""
        items = self._context.items
        last = items[end - 1].exchange if end else None
        if last is not None and not last.calls:  # only prompts and results have breakpoints
            end -= end < len(items)
        at, blocks = end, 0
        while at:
            seq = items[at - 1].seq
            blocks += _blocks(planned.get(seq) or item_of(self._context.counts, seq))
            if blocks > _NEAR:
                break
            at -= 1
        return at, end

    def _upto(self, items: int) -> list[int]:
        """Return the hashes of at least so many leading items as they are shown now."""
        context, chain, kind = self._context, self._chain, hash((self._model, self._context.preamble))
        for seq in context.counts.moved:
            if context.is_shown(seq):
                del chain[context.position(seq) + 1 :]
        context.counts.moved.clear()
        if kind != self._kind or self._last >= len(chain):
            self._leave(len(chain) if kind == self._kind else 0)
        self._kind, self._joined = kind, min(self._joined, len(chain))
        for item in context.items[len(chain) - 1 : items]:
            chain.append(hash((chain[-1], _look(item_of(context.counts, item.seq)))))
        for at in range(self._joined, len(chain)):
            if (key := self._key(chain[at])) in self._stored:
                self._settle()
                self._join(at, key)
        self._joined = len(chain)
        return chain

    def _key(self, shown: int) -> int:
        return hash((self._kind, shown))


def _look(item: Item) -> int:
    """Return a hash of what the model sees of an item."""
    memos = tuple(memo.text for memo in item.memos)
    if item.hidden:
        return hash(memos)
    edits = frozenset((seq, edit.text) for seq, edit in item.edits.items())
    return hash((memos, tuple(part.seq for part in item.parts), edits, item.silent))


def _blocks(item: Item) -> int:
    """Return the number of blocks that the model sees of an item."""
    blocks = len(item.memos)
    if not item.hidden:
        blocks += sum(1 if part.seq in item.edits else len(part.wire) for part in item.parts)
        if item.silent and isinstance(item.head.event, AssistantMessage):
            blocks -= thinking_blocks(item.head.event.content)
    return blocks
