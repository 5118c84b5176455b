"""The prefixes that the last request changed but that the endpoint may still have stored.

An undo, a redo or a rewind shows such a prefix again. Then it is read from the cache, if it is not too old and a
breakpoint is near enough: each request has one at its end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter, xor

from prunecli.context import render
from prunecli.context.counted import Item
from prunecli.context.exchange import Entry
from prunecli.context.fold import Fold
from prunecli.context.placing import NOTHING_PLANNED, known
from prunecli.context.wire import LOOK_BACK, SAME_PREFIX
from prunecli.model.events import AssistantMessage, AttemptBilled, Record, UserMessage
from prunecli.model.messages import Usage, thinking_blocks
from prunecli.model.requests import TTL_MS, CacheTtl, reported_ttl

_MOST = 128
"""Prefixes to remember, up to twice as many, so that memory and time do not grow. Most requests add one."""
SHORT_TTL_MS = TTL_MS["5m"]
"""The shortest lifetime of a cached prefix."""


@dataclass(slots=True, eq=False)
class Prefix:
    """A stored prefix: its key, its number of items, its tokens, 0 if not reported, and its last use in unix ms.

    `before` is a shorter stored prefix that is read whenever this one is: `Prefixes` passes the last use on to it
    only on demand.
    """

    key: int
    items: int
    used: int
    tokens: int = 0
    before: "Prefix | None" = None

    def pass_on(self) -> None:
        """Give the last use to the shorter prefixes that are read with this one."""
        one = self
        while (before := one.before) is not None:
            before.used = max(before.used, one.used)
            one = before


_ITEMS = attrgetter("items")


class Prefixes:
    """The last prefixes that requests stored, on any branch and by any model, by a hash of their content.

    `here` is the time, in unix ms, at which the model of the last request last read this branch; 0 if it never did.
    """

    def __init__(self, context: Fold) -> None:
        self._context = context
        self._stored: dict[int, Prefix] = {}
        self._preambles: dict[int, int] = {}
        """The last use of what precedes the messages, by its hash."""
        self._model = self._asked = ""
        """The models of the last request, and of the last one on this branch."""
        self._hashed = "", context.preamble, 0
        """The last kind (see `_kind`), with the model and the preamble."""
        self._newest: tuple[int, Prefix] | None = None
        """The longest stored prefix of the current content, as of the last report, and the kind of its content."""
        self._is_passed_on = True
        self.ttl: CacheTtl | None = None
        """How long the endpoint keeps a prefix, as last reported."""
        self.clear()

    def clear(self) -> None:
        """Forget the items for a rewind, but not what is stored. What is folded again does not store it again."""
        self._forget_newest()
        self._chain = [0]
        """Hashes of the items as they are shown now: at the start, then after each item. Each combines those of its
        items and their places with XOR, so planned edits change it without hashing the items after them again."""
        self._again, self.here = bool(self._model), 0

    def rewound(self, last: int | None) -> int | None:
        """End a rewind; the last response before it was at `last`. Return the last use of a prefix of this branch."""
        self._again, wire = False, self._context.wire
        if not wire.marks and wire.ends_within(known(self._context)):
            self.here = last or 0  # in a log without breakpoints, the last request started with this branch
        elif self._asked != self._model:
            self.here = 0
        return max(self.here, self.last_use(self._model)) or None

    def last_use(self, model: str) -> int:
        """Return the last time at which a model's request stored or read a prefix of this branch, 0 if never."""
        items, kind = self._context.items, self._kind(model)
        if not items:
            return self._preambles.get(kind, 0)
        return max((one.used for one in self._here(self._upto(len(items)), kind)), default=0)

    def sent(self, model: str, at: int, marks: tuple[int, ...]) -> None:
        """Record that a request with these breakpoints was sent to a model."""
        self._context.wire.sent(marks)
        self._asked = model
        if not self._again:
            self._model = model
            self._store(at)

    def answered(self, usage: Usage, at: int) -> bool:
        """Record what the endpoint read of the last request from its cache. Return whether it reports this."""
        self.here, read = at, usage.cache_read_input_tokens
        if read is not None and not self._again:
            self.ttl = reported_ttl(usage) or self.ttl
            self._read(read, at)
            self._renew(at, usage.prompt_tokens - usage.input_tokens)
        return self._context.wire.answered(usage)

    def beside(self, record: Record) -> int | None:
        """Return the time of a record if it bills a request that the endpoint stored: the last one without an answer,
        or one for a summary by the same model."""
        match record.event:
            case AttemptBilled(usage=usage, reason="cut" | "stopped"):
                self.answered(usage, record.timestamp)
                return record.timestamp
            case AttemptBilled(model, usage, "summary") if self.summarized(model, usage, record.timestamp):
                return record.timestamp if model == self._model else None
            case _:
                return None

    def summarized(self, model: str, usage: Usage, at: int) -> bool:
        """Record a request for a summary. Return whether it stored what the last request showed as it is now.

        It has a breakpoint after that, unless most of it was not cached.
        """
        if self._again or 2 * usage.input_tokens >= usage.prompt_tokens:
            return False
        items, kind = self._breakpoint(NOTHING_PLANNED, known(self._context)), self._kind(model)
        key = hash((kind, self._upto(items)[items]))
        one = self._stored.setdefault(key, Prefix(key, items, at))
        one.used = self._preambles[kind] = at
        one.pass_on()
        return True

    def _read(self, read: int, at: int) -> None:
        """Renew the prefixes that the last request read, and forget those that it should have found."""
        if not self._stored:
            self._newest = None
            return
        marks = self._context.wire.marks
        end = marks[-1] if marks else 0
        chain = self._upto(end)
        kind = self._kind(self._model)
        if self._newest is not None and self._newest[0] == kind:
            newest = self._newest[1]
            if newest.items <= end and 0 < newest.tokens * SAME_PREFIX <= read:
                newest.used, self._is_passed_on = at, False  # so all others before it were read as well
                return
        near, here, last = min(self._in_reach(NOTHING_PLANNED, end)), self._here(chain[: end + 1], kind), None
        found = max((one.items for one in here if 0 < one.tokens * SAME_PREFIX <= read), default=0)
        since = next((one.used for one in here if one.items == found), at)
        for one in here:
            is_read = 0 < one.tokens * SAME_PREFIX <= read or (one.items < found and one.used >= since)
            if is_read or one.items in marks:
                one.used, one.before, last = at, last, one
            elif one.items >= max(near, found):
                del self._stored[one.key]
            elif one.items > found:
                one.tokens = 0  # too far from the end or too old, so a later report says nothing about it
        self._newest = (kind, last) if last else None

    def _here(self, chain: Sequence[int], kind: int) -> list[Prefix]:
        """Return the stored prefixes of this content, shortest first, with their last use."""
        self._pass_on()
        end, stored = len(chain), self._stored.values()
        return sorted(
            [one for one in stored if one.items < end and one.key == hash((kind, chain[one.items]))],
            key=_ITEMS,
        )

    def _pass_on(self) -> None:
        """Give the last use of the longest prefix of the current content to those that were read with it. The others
        have passed theirs on."""
        if self._newest is not None and not self._is_passed_on:
            self._newest[1].pass_on()
        self._is_passed_on = True

    def _forget_newest(self) -> None:
        self._pass_on()
        self._newest = None

    def _store(self, at: int) -> list[Prefix]:
        """Return the prefixes before the breakpoints of the last request, which the endpoint has stored."""
        found, kind, marks = list[Prefix](), self._kind(self._model), self._context.wire.marks
        self._preambles[kind] = at
        chain = self._upto(marks[-1] if marks else 0)
        for items in marks:
            key = hash((kind, chain[items]))
            self._stored[key] = one = self._stored.pop(key, None) or Prefix(key, items, at)
            found.append(one)
        if len(self._stored) > 2 * _MOST:
            self._pass_on()
            self._stored = dict(list(self._stored.items())[-_MOST:])
            for one in self._stored.values():
                while one.before is not None and one.before.key not in self._stored:
                    one.before = one.before.before
        return found

    def _renew(self, at: int, tokens: int) -> None:
        """Renew the prefixes before the breakpoints, and put them among those of the current content. The longest one
        has this many tokens."""
        marked = self._store(at)
        self._is_passed_on = False
        for one in marked:
            after, before = None, self._newest[1] if self._newest else None
            while before is not None and before.items > one.items:
                after, before = before, before.before
            if before is not one:
                one.before = before
                if after is None:
                    self._newest = self._kind(self._model), one
                else:
                    after.before = one
            one.used = at
        if marked and tokens:
            marked[-1].tokens = tokens

    def cached(self, planned: Mapping[int, Item], since: int, model: str) -> int:
        """Return the number of leading items that the model's next request, which shows some items as `planned`, will
        read from the cache, counting only prefixes used since that time."""
        context = self._context
        same = self._breakpoint(planned, known(context, planned))
        stored = 0
        if model == context.requested and self.here >= since:
            changed = min(map(context.position, planned), default=len(context.items))
            stored = context.wire.stored(same, changed)
        return self._longest(planned, same, since, model, stored) if self._stored else stored

    def cached_now(self) -> int:
        """Return the number of leading items that the next request will read, if the cache is still warm then."""
        since = (self._context.last_response or 0) - SHORT_TTL_MS
        return self.cached(NOTHING_PLANNED, since, self._context.requested)

    def _longest(self, planned: Mapping[int, Item], same: int, since: int, model: str, least: int) -> int:
        """Return the number of items in the longest prefix, used since then, that the model's next request will find
        stored; `least` if there is no longer one.

        The request shows some items as `planned`. It has breakpoints after the first `same` ones and at its end.
        """
        self._pass_on()
        context, kind = self._context, self._kind(model)
        chain, shown = self._upto(len(context.items)), context.counts.items
        changed = [
            (context.position(seq), item) for seq, item in planned.items() if item is not shown.get(seq)
        ]
        changes = {at: chain[at] ^ chain[at + 1] ^ _link(at, item) for at, item in changed}
        for end in (len(context.items), same):
            change = reduce(xor, (one for at, one in changes.items() if at < end), 0)
            for items in self._in_reach(planned, end):
                if items <= least:
                    break
                one = self._stored.get(hash((kind, chain[items] ^ change)))
                if one is not None and one.used >= since:
                    return items
                change ^= changes.get(items - 1, 0)  # the next prefix is without this item
        return least

    def _breakpoint(self, planned: Mapping[int, Item], same: int) -> int:
        """Return the number of items before the breakpoint after the first `same` ones, which is at the end of a
        user message that does not become longer."""
        context = self._context
        if not context.wire.marks:  # the log has no breakpoints
            return same
        shown = (planned.get(one.seq) or context.counts.items[one.seq] for one in context.items[same:])
        first = next((one for one in shown if one.memos or not one.hidden), None)
        joins = first is not None and (bool(first.memos) or first.head.kind != "assistant")
        return context.wire.last_prompt(same, joins=joins)

    def _in_reach(self, planned: Mapping[int, Item], end: int) -> Iterator[int]:
        """Yield the numbers of items in the prefixes that a breakpoint after this many items can find, longest
        first."""
        items, shown, blocks = self._context.items, self._context.counts.items, 0
        yield end
        for at in range(end - 1, -1, -1):
            seq = items[at].seq
            blocks += blocks_of(planned.get(seq) or shown[seq])
            if blocks > LOOK_BACK:
                break
            yield at

    def _upto(self, items: int) -> list[int]:
        """Return the hashes of at least this many leading items as they are shown now."""
        context, chain = self._context, self._chain
        for seq in context.counts.moved:
            if context.is_shown(seq):
                del chain[context.position(seq) + 1 :]
        context.counts.moved.clear()
        if self._newest is not None and self._newest[1].items >= len(chain):
            self._forget_newest()
        for at, item in enumerate(context.items[len(chain) - 1 : items], len(chain) - 1):
            chain.append(chain[-1] ^ _link(at, context.counts.items[item.seq]))
        return chain

    def _kind(self, model: str) -> int:
        """Return a hash of what precedes the messages, which no other model reads."""
        preamble = self._context.preamble
        if self._hashed[0] != model or self._hashed[1] is not preamble:
            self._hashed = model, preamble, hash((model, preamble))
        return self._hashed[2]


def _link(at: int, item: Item) -> int:
    """Return a hash of a place and of what the model sees of the item there. It does not depend on the items before
    it."""
    memos = tuple([memo.text for memo in item.memos])
    if item.hidden:
        return hash((at, memos))
    edits = frozenset([(seq, edit.text) for seq, edit in item.edits.items()])
    return hash((at, memos, tuple([part.seq for part in item.parts]), edits, item.silent))


def blocks_of(item: Item) -> int:
    """Return the number of blocks that the model sees of an item."""
    blocks = len(item.memos)
    if not item.hidden:
        blocks += sum([1 if part.seq in item.edits else _sent_blocks(part) for part in item.parts])
        if item.silent and isinstance(item.head.event, AssistantMessage):
            blocks -= thinking_blocks(item.head.event.content)
    return blocks


def _sent_blocks(entry: Entry) -> int:
    """Return the number of blocks of an entry, counted once. This makes no bytes, unlike `Entry.wire`."""
    if not entry.is_sent:
        return 0
    if entry.sizes.blocks < 0:
        match entry.event:
            case AssistantMessage(content):
                entry.sizes.blocks = render.sent_blocks(content, answer=True)
            case UserMessage() as event:
                entry.sizes.blocks = render.sent_blocks(event.sent, answer=False)
            case _:
                entry.sizes.blocks = 1
    return entry.sizes.blocks
