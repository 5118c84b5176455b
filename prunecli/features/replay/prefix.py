"""The prompt cache of an endpoint, exact to the block: computes what a request reads and writes.

A request is its system prompt with the tools, then the items of the context. Prefixes are stored up to its
breakpoints, if they have at least 1,024 tokens. The longest stored prefix that ends at most 20 blocks before a
breakpoint is read. A prefix expires a lifetime after the last response whose request stored it, or read it as a part
of what it read. An edit changes the items it touches, so no stored prefix that extends beyond them matches any more.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from prunecli.context import render
from prunecli.context.cache import LEAST_CACHED
from prunecli.context.counted import Item
from prunecli.context.exchange import Entry
from prunecli.context.item_order import known
from prunecli.context.state import Context
from prunecli.context.tokens import TokenCounter
from prunecli.model.events import AssistantMessage, AttemptBilled, Event, Record, RequestSent, UserMessage
from prunecli.model.messages import Json, Usage, thinking_blocks
from prunecli.model.requests import TTL_MS, reported_ttl
from prunecli.providers.models import CacheKind, token_factor
from prunecli.util.frozen import frozen

BLOCK = 128
"""Tokens of a block of an automatic cache."""
LOOK_BACK = 19
"""A breakpoint finds a stored prefix that ends at most this many blocks before it."""


@dataclass(slots=True)
class PrefixCache:
    """One endpoint's cache for one session.

    `kind` is how the endpoint caches: an automatic cache reads any prefix of the last request, in blocks of 128
    tokens, and has no breakpoints; the others as above. `fixed` is the tokens of system prompt and tools. `totals`
    are the tokens up to the end of each item of the request laid out last, beginning with `fixed`. `changed`: that
    request does not begin with the previous one.

    `_chain` identifies each of those prefixes. `_cuts` are the stored ones among them that the last request read or
    stored, as numbers of items. `_others` are all other stored prefixes, with the times of their last responses. A
    rewind may bring them back.
    """

    fixed: int
    ttl_ms: int
    minimum: int = LEAST_CACHED
    kind: CacheKind = "breakpoints"
    totals: list[float] = field(default_factory=list)
    changed: bool = False
    _context: Context | None = None
    _chain: list[int] = field(default_factory=list)
    _cuts: list[int] = field(default_factory=list)
    _others: dict[int, int] = field(default_factory=dict)
    _lost: bool = False
    _answered: int = 0
    _factor: float = 0.0
    _same: int = 0

    def lay_out(self, context: Context, model: str) -> None:
        """Lay out the request again after changes in the context since the last one."""
        chain, totals, counts, start = self._chain, self.totals, context.counts, hash(model)
        keep, self._context = 0, context
        if chain and chain[0] == start and self._factor == counts.factor:
            keep = min(known(context) + 1, len(chain))
        before = chain[keep:]
        del chain[keep:], totals[keep:]
        if not keep:
            chain.append(start)
            totals.append(float(self.fixed))
        whole, link, self._factor = totals[-1], chain[-1], counts.factor
        for entry in context.items[len(chain) - 1 :]:
            item = counts.items[entry.seq]
            link = hash((link, _identity(entry), *_state(item)))
            raw, exact, words = item.amount or counts.item_amount(item)
            whole += self._factor * (raw + words) + exact
            chain.append(link)
            totals.append(whole)
        same = 0
        while same < len(before) and keep + same < len(chain) and before[same] == chain[keep + same]:
            same += 1
        self.changed, self._lost = same < len(before), self.kind == "automatic" and same < len(before)
        self._same = keep + same
        while self._cuts and self._cuts[-1] >= keep + same:
            self._others[before[self._cuts.pop() - keep]] = self._answered
            self._lost = True

    def forget_layout(self) -> None:
        """Lay out the next request anew: the context does not know that this one, for a summary, was sent."""
        self._factor = 0.0

    def prefix(self, items: int) -> int:
        """Return the identity of the prefix with this many items of the request laid out last; -1 for the whole
        request."""
        return self._chain[items]

    def breaks(self, now: int) -> bool:
        """Return whether this request misses a part of the previous one that is still cached."""
        return self._lost and self._is_warm(now, self._answered)

    @property
    def tokens(self) -> int:
        """The tokens of the request laid out last."""
        return round(self.totals[-1])

    def read(self, now: int, marks: Sequence[int] = ()) -> tuple[int, int]:
        """Return the cached part of the request: its number of items, and its tokens including the system prompt.

        `marks` are the numbers of items before its breakpoints. Without any, it finds each stored prefix.
        """
        return self._read(self._alive(now), marks)

    def _read(self, alive: Sequence[int], marks: Sequence[int]) -> tuple[int, int]:
        if self.kind == "automatic":
            place = self._same - 1 if alive else -1
            tokens = min(int(self.totals[place]), self.tokens - 1) // BLOCK * BLOCK if place >= 0 else 0
            return (place, tokens) if tokens >= self.minimum else (0, 0)
        place = next((at for at in reversed(alive) if self._is_found(at, marks)), -1)
        return (0, 0) if place < 0 else (place, round(self.totals[place]))

    def _is_found(self, items: int, marks: Sequence[int]) -> bool:
        """Return whether a breakpoint is near enough behind a stored prefix to find it."""
        if not items or not marks:
            return True
        at = bisect_left(marks, items)
        return at < len(marks) and self._blocks(items, marks[at]) <= LOOK_BACK

    def _blocks(self, start: int, end: int) -> int:
        """Return the number of blocks in a range of items."""
        context = self._context
        if start == end or context is None:
            return 0
        return sum(blocks_of(context.counts.items[entry.seq]) for entry in context.items[start:end])

    def _alive(self, now: int) -> list[int]:
        """Return the stored prefixes of the request that have not expired, shortest first."""
        if not self._is_warm(now, self._answered):
            return []
        chain, others = self._chain, self._others
        if others.keys().isdisjoint(chain):
            return self._cuts
        back = (at for at, link in enumerate(chain) if link in others and self._is_warm(now, others[link]))
        return sorted({*self._cuts, *back})

    def _is_warm(self, now: int, answered: int) -> bool:
        return now - answered <= self.ttl_ms

    def sent(self, now: int, answered: int, output_tokens: int = 0, marks: Sequence[int] = ()) -> Usage:
        """Return the usage of the request sent `now`, with a response of this many tokens. Its prefixes up to `marks`
        are stored from the response on; without any, what it reads and the whole request."""
        alive = self._alive(now)
        place, read = self._read(alive, marks)
        if self.kind in ("automatic", "none"):
            self._cuts, self._answered = [0], answered
            read = 0 if self.kind == "none" else read
            return Usage(self.tokens - read, output_tokens, read, 0)
        self._renew(alive, place, now)
        self._answered = answered
        stored = 0
        for cut in (0, *(marks or (max(place, 0), len(self._chain) - 1))):
            if self.totals[cut] >= self.minimum:
                self._store(cut)
                stored = max(stored, round(self.totals[cut]))
        return Usage(self.tokens - max(stored, read), output_tokens, read, max(0, stored - read))

    def _renew(self, alive: list[int], place: int, now: int) -> None:
        """Keep as `_cuts` the prefixes within the part that a request read; the others have their own times."""
        chain, others = self._chain, self._others
        if not alive and not self._is_warm(now, self._answered):
            others.clear()
        elif alive is not self._cuts or alive[-1:] != [place]:
            read = alive[: bisect_right(alive, place)]
            others.update((chain[at], self._answered) for at in self._cuts if at > place)
            for at in read:
                others.pop(chain[at], None)
            alive = read
        self._cuts = alive

    def _store(self, cut: int) -> None:
        self._others.pop(self._chain[cut], None)
        at = bisect_left(self._cuts, cut)
        if at == len(self._cuts) or self._cuts[at] != cut:
            self._cuts.insert(at, cut)


def _identity(entry: Entry) -> Hashable:
    """Return a value that is equal for equal content. The user may send the same message again after a rewind; the
    model never writes the same answer twice."""
    return entry.wire if isinstance(entry.event, UserMessage) else entry.seq


def _state(item: Item) -> tuple[object, ...]:
    """Return a value that changes when an item's shown content changes: its results so far and its edits."""
    plain = (len(item.parts), item.hidden, item.silent)
    return (*plain, *item.edits.items(), *item.memos) if item.edits or item.memos else plain


def blocks_of(item: Item) -> int:
    """Return the number of blocks that the model sees of an item."""
    blocks = len(item.memos)
    if not item.hidden:
        blocks += sum([1 if _is_replaced(item, part) else _sent_blocks(part) for part in item.parts])
        if item.silent and isinstance(item.head.event, AssistantMessage):
            blocks -= thinking_blocks(item.head.event.content)
    return blocks


def _is_replaced(item: Item, part: Entry) -> bool:
    """Return whether one text stands for an entry. A cut shortens calls, which stay."""
    return (edit := item.edits.get(part.seq)) is not None and edit.kind != "cut"


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


@frozen
class Validation:
    """The sorted relative errors of prompts with earlier reports, and the predicted and reported cache reads in
    tokens.

    `drifts` are, for each session, the sum of its prompts as counted from the first report on without any later one,
    as a replay has to, relative to the sum of the reports; `drift` is that of all sessions.
    """

    errors: tuple[float, ...] = ()
    predicted: int = 0
    reported: int = 0
    counted: float = 0.0
    prompts: int = 0
    drifts: tuple[float, ...] = ()

    @property
    def drift(self) -> float:
        return self.counted / self.prompts - 1 if self.prompts else 0.0

    def at(self, part: float) -> float | None:
        """Return the error that this share of the requests does not exceed; None without reports."""
        return self.errors[max(0, round(part * len(self.errors)) - 1)] if self.errors else None

    def to_json(self) -> dict[str, Json]:
        """Return the summary figures."""
        return {
            "requests": len(self.errors),
            "prompt_error_median": self.at(0.5),
            "prompt_error_p95": self.at(0.95),
            "prompt_drift": self.drift,
            "prompt_drift_worst": max(self.drifts, key=abs, default=0.0),
            "cache_read_predicted": self.predicted,
            "cache_read_reported": self.reported,
        }


def together(found: Iterable[Validation]) -> Validation:
    """Return the combined validation of several sessions."""
    each = list(found)
    errors = sorted(error for one in each for error in one.errors)
    return Validation(
        tuple(errors),
        sum(one.predicted for one in each),
        sum(one.reported for one in each),
        sum(one.counted for one in each),
        sum(one.prompts for one in each),
        tuple(drift for one in each for drift in one.drifts),
    )


def validated(records: Sequence[Record], counter: TokenCounter) -> Validation:
    """Compare the predicted size and cache reads of each prompt with those that a recording reports.

    Each prompt is estimated before its report is known, from the earlier reports. The lifetime is the one that the
    endpoint reported; if it reported none or several, the one that fits better. The first request may read content
    that earlier sessions cached, which counts as cached from then on. Attempts without an answer are requests too.
    """
    errors: list[float] = []
    reads: list[tuple[int, ...]] = []
    reported = 0
    prompts: list[tuple[int, int]] = []
    for prompt, size, error, predicted, read in _requests(records, counter):
        prompts.append((prompt, size))
        if error is not None:
            errors.append(error)
        if read is not None:
            reads.append(predicted)
            reported += read
    kept = {reported_ttl(record.event.usage) for record in records if _reports(record.event)} - {None}
    likely = [at for at, ttl in enumerate(TTL_MS) if len(kept) != 1 or ttl in kept]
    sums = [sum(one[at] for one in reads) for at in likely]
    predicted_reads = min(sums, key=lambda one: abs(one - reported))
    sizes, whole = _counted(prompts), sum(prompt for prompt, _ in prompts)
    drifts = (sizes / whole - 1,) if whole else ()
    return Validation(tuple(sorted(errors)), predicted_reads, reported, sizes, whole, drifts)


def _counted(prompts: Sequence[tuple[int, int]]) -> float:
    """Return the sum of the counted sizes, with the system prompt and tools that the first report implies."""
    return sum(size + prompts[0][0] - prompts[0][1] for _, size in prompts)


def _requests(
    records: Sequence[Record], counter: TokenCounter
) -> Iterator[tuple[int, int, float | None, tuple[int, ...], int | None]]:
    """Yield for each reported prompt its tokens, its size without the system prompt as counted without reports, its
    error, the reads predicted with each lifetime, and the reported reads."""
    context = Context(counter, token_factor, billed=False)
    caches = [PrefixCache(0, lifetime, minimum=0) for lifetime in TTL_MS.values()]
    recorded = False
    sizes: dict[int, int] = {}
    shared: int | None = None
    now = 0
    for record in records:
        event = record.event
        if isinstance(event, RequestSent):
            recorded = True
            for cache in caches:
                cache.lay_out(context, event.model)
        if _reports(event) and (prompt := event.usage.prompt_tokens):
            estimate = context.counts.context_tokens
            read = event.usage.cache_read_input_tokens
            predicted: list[int] = []
            marks = context.cache.marks if recorded else ()
            for cache in caches:
                if not recorded:
                    cache.lay_out(context, event.model)
                place, _ = cache.read(now, marks)
                predicted.append(sizes.get(cache.prefix(place), shared or 0))
                cache.sent(now, record.timestamp, marks=marks)
            sizes[caches[0].prefix(-1)] = estimate
            error = abs(estimate - prompt) / prompt if context.counts.scale.measured else None
            yield prompt, caches[0].tokens, error, tuple(predicted), None if shared is None else read
            shared = (read or 0) if shared is None else shared
            if not recorded:  # by another agent
                context.apply(Record(record.seq, now, RequestSent(event.model, estimate, "")))
        recorded = recorded and not isinstance(event, AssistantMessage)
        context.apply(record)
        now = record.timestamp


def _reports(event: Event) -> TypeGuard[AssistantMessage | AttemptBilled]:
    """Return whether an event reports a request of this context, answered or not."""
    if isinstance(event, AttemptBilled):
        return event.reason in ("cut", "stopped")
    return isinstance(event, AssistantMessage)
