"""The prefixes that the endpoint may still have stored although the last request had changed them.

An undo, a redo or a rewind shows such a prefix again. Then it is read from the cache, if it is not too old and a
breakpoint is near enough: each request has one at its end.
"""

from collections.abc import Mapping
from typing import NamedTuple

from prunecli.context.counted import Item
from prunecli.context.fold import Fold
from prunecli.context.placing import NOTHING_PLANNED, known
from prunecli.context.token_counts import item_of
from prunecli.context.wire import SAME_PREFIX
from prunecli.model.events import AssistantMessage
from prunecli.model.messages import Usage, thinking_blocks

_MOST = 128
"""Prefixes to remember, so that memory and time do not grow with a session. Most requests add one."""
_NEAR = 19
"""A breakpoint finds a stored prefix that ends at most this many blocks before it."""


class Prefix(NamedTuple):
    """A stored prefix: its number of items, its tokens, 0 if not reported, and its last use in unix ms."""

    items: int
    tokens: int
    used: int


class Prefixes:
    """The last prefixes that requests stored, on any branch and by any model, by a hash of their content."""

    def __init__(self, context: Fold) -> None:
        self._context = context
        self._stored: dict[int, Prefix] = {}
        self._model = ""
        self.clear()

    def clear(self) -> None:
        """Forget the items for a rewind, but not what is stored."""
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
        near, chain, kind = self._near(NOTHING_PLANNED, end)[0], self._upto(end), self._kind(self._model)
        for key, one in list(self._stored.items()):
            current = one.items <= end and one.used <= at  # a rewind folds old reports again
            if not current or hash((kind, chain[one.items])) != key:
                continue
            if 0 < one.tokens * SAME_PREFIX <= read:
                self._stored[key] = one._replace(used=at)
            elif one.items >= near:
                del self._stored[key]
            else:  # too far from the end or too old, so a later report says nothing about it
                self._stored[key] = one._replace(tokens=0)

    def _store(self, at: int, tokens: int = 0) -> None:
        """Record that the endpoint has the content before each breakpoint, and its tokens before the last one."""
        marks, kind = self._context.wire.marks, self._kind(self._model)
        for items in marks:
            key = hash((kind, self._upto(items)[items]))
            before = self._stored.pop(key, Prefix(items, 0, at))
            size = tokens if tokens and items == marks[-1] else before.tokens
            self._stored[key] = Prefix(items, size, max(at, before.used))
        while len(self._stored) > _MOST:
            del self._stored[next(iter(self._stored))]

    def longest(self, planned: Mapping[int, Item], same: int, since: int) -> int:
        """Return the number of items in the longest prefix, used since then, that the next request will find stored.

        The request shows some items as `planned`, and the first `same` ones as the last request did: it has a
        breakpoint behind these and one at its end.
        """
        return max((one.items for one in self._shared(planned, same) if one.used >= since), default=0)

    def last_use(self, model: str, at: int | None) -> int | None:
        """Return the time at which the endpoint last used the longest stored prefix that a rewind led back to.

        In a log without breakpoints, that is the time of the last response before the rewind, `at`, if its request to
        `model` still started with this prefix.
        """
        context = self._context
        same = known(context)
        if context.wire.marks:
            found = self._shared(NOTHING_PLANNED, same)
            return max(found).used if found else context.last_response
        return at if context.requested == model and context.wire.ends_within(same) else context.last_response

    def _shared(self, planned: Mapping[int, Item], same: int) -> list[Prefix]:
        """Return the stored prefixes with which the next request starts, near enough to one of its breakpoints."""
        context, kind = self._context, self._kind(self._context.requested)
        ranges = [self._near(planned, at) for at in (same, len(context.items))]
        near_enough = {
            key: one
            for key, one in self._stored.items()
            if any(near <= one.items <= at for near, at in ranges)
        }
        first = min((context.position(seq) for seq in planned), default=len(context.items))
        chain = self._upto(0)[: first + 1]
        for item in context.items[
            len(chain) - 1 : max((one.items for one in near_enough.values()), default=0)
        ]:
            shown = planned.get(item.seq) or item_of(context.counts, item.seq)
            chain.append(hash((chain[-1], _look(shown))))
        return [one for key, one in near_enough.items() if hash((kind, chain[one.items])) == key]

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
        context, chain = self._context, self._chain
        for seq in context.counts.moved:
            if context.is_shown(seq):
                del chain[context.position(seq) + 1 :]
        context.counts.moved.clear()
        for item in context.items[len(chain) - 1 : items]:
            chain.append(hash((chain[-1], _look(item_of(context.counts, item.seq)))))
        return chain

    def _kind(self, model: str) -> int:
        """Return a hash of what precedes the messages, which no other model reads."""
        return hash((model, self._context.preamble))


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
