"""What the endpoint has of this session in its prompt cache, and until when.

An endpoint stores a prefix at each breakpoint of a request, and reads the longest stored one that a later request
starts with. So after an edit it reads the prompt up to the last breakpoint before the edit. `marks` and `_stored`
follow the requests of the current branch; `_used` has the time at which each model last answered on any branch.

This is exact as long as the session only goes on. Back after an undo, a rewind or another model, the endpoint may
still have more than is known here, so a preview says "about"; the bill comes from the endpoint's reports.
"""

from collections.abc import Mapping, Sequence

from prunecli.context.counted import Item
from prunecli.context.item_order import NOTHING_PLANNED, Fold, known
from prunecli.model.events import AttemptBilled, Record
from prunecli.model.messages import Usage
from prunecli.model.requests import TTL_MS, CacheTtl, reported_ttl

SHORT_TTL_MS = TTL_MS["5m"]
"""The shortest lifetime of a cached prefix."""
LEAST_CACHED = 1_024
"""Minimum tokens of a prefix that endpoints store."""
SAME_PREFIX = 0.98
"""Reports of the same prefix differ by less than this factor."""


def learned_ms(assumed: int, lasted: int, lost: int) -> int:
    """Return how long an endpoint that does not tell keeps a prefix, in ms: as assumed, at least the longest pause
    that one outlived, and less than the shortest that one did not (0: none)."""
    longest = max(assumed, lasted)
    return min(longest, lost) if lost else longest


class Cache:
    """The stored prefixes of the current branch, and the last use by each model.

    `marks`: the numbers of items before the breakpoints of the last request. `ttl`: the lifetime of a prefix, as last
    reported. `lasted_ms`: the longest pause after which the prefix of the last request was still there; `lost_ms`:
    the shortest after which it was gone, 0 for none. Endpoints that cache by themselves do not tell how long.
    """

    def __init__(self, context: Fold) -> None:
        self._context = context
        self._used: dict[str, int] = {}
        self.ttl: CacheTtl | None = None
        self.lasted_ms = self.lost_ms = 0
        self._last = ("", 0, 0)
        """The model of the last request, its items, and the tokens of its prompt, 0 if an edit changed them since."""
        self.clear()

    def clear(self) -> None:
        """Forget the branch for a rewind, but not the last uses."""
        self.marks: Sequence[int] = ()
        self._stored: dict[int, int] = {}
        """Shortest first: the number of items in a stored prefix, and its reported tokens, 0 if unknown."""
        self._most = 0
        """The tokens of the largest stored prefix."""

    def last_use(self, model: str) -> int:
        """Return the last time, in unix ms, at which a model answered in this session; 0 if never."""
        return self._used.get(model, 0)

    def is_cold(self, model: str, now: int) -> bool:
        """Return whether the model has nothing of this session in its cache any more at this time in unix ms."""
        return now - self.last_use(model) > TTL_MS[self.ttl or "5m"]

    def sent(self, marks: tuple[int, ...]) -> None:
        """Record that a request with breakpoints at the end of these messages was sent."""
        wire = self._context.wire
        model, items, prompt = self._last
        self._last = model, len(self._context.items), prompt if wire.kept >= items else 0
        if marks or self._stored:
            messages = len(wire)  # fewer than were sent if the log is damaged
            self.marks = [wire.items_before(at + 1) for at in marks if at < messages]
            while next(reversed(self._stored), 0) > wire.kept:
                self._stored.popitem()
            self._store({items: self._stored.get(items, 0) for items in self.marks})
        wire.sent()

    def answered(self, model: str, usage: Usage, at: int) -> bool:
        """Record what the endpoint read of the last request from its cache, and stored; longer prefixes were no
        longer there. Return whether it reports this."""
        if (read := usage.cache_read_input_tokens) is None:
            self._use(model, at)
            return False
        self._learn(model, usage, at)
        if self._use(model, at):
            self.ttl = reported_ttl(usage) or self.ttl
        if not self.marks and not self._stored:
            return True
        added = {items: self._stored.get(items) or read for items in self.marks}
        if self._most * SAME_PREFIX > read:
            left = [pair for pair in self._stored.items() if pair[1] * SAME_PREFIX <= read]
            self._stored = dict(left)
            self._most = max(self._stored.values(), default=0)
        written = (
            usage.cache_creation_input_tokens is not None
        )  # else the endpoint stores the prompt by itself
        whole = usage.prompt_tokens - (usage.input_tokens if written else 0)
        self._store(added | dict.fromkeys(self.marks[-1:], whole))
        return True

    def _learn(self, model: str, usage: Usage, at: int) -> None:
        """Learn from an answer after a pause whether the prompt of the request before it was still stored."""
        before, items, prompt = self._last
        pause = at - self.last_use(model)
        if before == model and prompt >= LEAST_CACHED:
            if 2 * (usage.cache_read_input_tokens or 0) > prompt:
                self.lasted_ms = max(self.lasted_ms, pause)
            elif pause >= SHORT_TTL_MS:  # sooner, it is a miss by chance
                self.lost_ms = min(self.lost_ms or pause, pause)
        self._last = model, items, usage.prompt_tokens

    @property
    def learned(self) -> tuple[CacheTtl | None, tuple[int, int]]:
        """What the endpoint tells of its lifetime, and what pauses have shown: the longest that a prefix outlived,
        and the shortest that it did not, in ms; 0 for none."""
        return self.ttl, (self.lasted_ms, self.lost_ms)

    def billed(self, record: Record) -> int | None:
        """Return the time of a record if it bills a request that the endpoint stored for the current model: the last
        one without an answer, or one for a summary."""
        match record.event:
            case AttemptBilled(model, usage, "cut" | "stopped"):
                self.answered(model, usage, record.timestamp)
                return record.timestamp
            case AttemptBilled(model, usage, "summary") if self.summarized(model, usage, record.timestamp):
                return record.timestamp if model == self._context.requested else None
            case _:
                return None

    def summarized(self, model: str, usage: Usage, at: int) -> bool:
        """Record a request for a summary. Return whether it keeps the conversation cached: most of it was cached."""
        return 2 * usage.input_tokens < usage.prompt_tokens and self._use(model, at)

    def replaced(self) -> None:
        """Record that a summary has replaced items, so that the numbers before breakpoints no longer hold."""
        self.marks = ()

    def _use(self, model: str, at: int) -> bool:
        """Record an answer. Return whether it is the newest one, and not one that a rewind folds again."""
        is_newest = at >= self._used.get(model, 0)
        if is_newest:
            self._used[model] = at
        return is_newest

    def _store(self, prefixes: Mapping[int, int]) -> None:
        """Add prefixes, shortest first."""
        last = next(reversed(self._stored), 0)
        first = next((items for items in prefixes if items not in self._stored), last)
        self._stored |= prefixes
        self._most = max((self._most, *prefixes.values()))
        if first < last:
            self._stored = dict(sorted(self._stored.items()))

    def stored(self, items: int, changed: int | None = None) -> int:
        """Return how many of these leading items are in the longest stored prefix; all of them if the log has no
        breakpoints. Those from `changed` on will be shown differently."""
        if not self._stored:
            return items
        same = items if changed is None else min(items, changed, self._context.wire.kept)
        return next((known for known in reversed(self._stored) if known <= same), 0)

    def cached(self, planned: Mapping[int, Item], since: int, model: str) -> int:
        """Return the number of leading items that the model's next request, which shows some items as `planned`, will
        read from the cache, if the model has answered since that time."""
        context = self._context
        if self.last_use(model) < since:
            return 0
        same = self._breakpoint(planned, known(context, planned))
        return self.stored(same, min(map(context.position, planned), default=len(context.items)))

    def cached_now(self) -> int:
        """Return the number of leading items that the next request will read, if the cache is still warm then."""
        since = (self._context.last_response or 0) - SHORT_TTL_MS
        return self.cached(NOTHING_PLANNED, since, self._context.requested)

    def _breakpoint(self, planned: Mapping[int, Item], same: int) -> int:
        """Return the number of items before the breakpoint after the first `same` ones, which is at the end of a
        user message that does not become longer."""
        context = self._context
        if not self.marks:  # the log has no breakpoints
            return same
        shown = (planned.get(item.seq) or context.counts.items[item.seq] for item in context.items[same:])
        first = next((one for one in shown if one.memos or not one.hidden), None)
        joins = first is not None and (bool(first.memos) or first.head.kind != "assistant")
        return context.wire.last_prompt(same, joins=joins)
