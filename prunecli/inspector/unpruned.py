"""Follows the prompt cache as it would be without prunes.

Without prunes a request only adds to an earlier one. It reads from the cache the longest earlier request that it
starts with, on whichever branch that was sent, if the same model has used it within the cache's lifetime.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from prunecli.context.wire import LOOK_BACK, SAME_PREFIX
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    Record,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Json, Text, Usage, plain_text
from prunecli.model.requests import PREAMBLE
from prunecli.model.searches import SEARCHES

_NEVER = -(1 << 62)


class End(NamedTuple):
    """A place in the tree of branches: the preamble, a hash of the records up to it, and their number of blocks."""

    preamble: int
    chain: int
    blocks: int


@dataclass(slots=True, eq=False)
class Prefix:
    """A request that later ones may start with.

    `end`: where it ends. `tokens` and `prompt`: its cached size without prunes and as reported. `edits` identifies
    the edits in effect, and how much the endpoint cleared. `held`: raw tokens of the held-back parts of its results,
    and the tokens that they count for in `tokens`. `used`: the last response to a request that would have
    read or stored it without prunes; `seen`: to one that did. `before` is the newest earlier prefix of the same
    model; `would_read` and `did_read` tell whether this request read it, without prunes and as it was.
    """

    end: End
    tokens: int
    prompt: int
    edits: tuple[int, int]
    held: tuple[int, int]
    used: int
    seen: int
    before: "Prefix | None"
    would_read: bool
    did_read: bool

    def size(self, told: Callable[[int], int]) -> int:
        """Return its cached size without prunes, by the current count of held-back parts instead of the earlier one:
        the two may differ although the content is the same."""
        raw, counted = self.held
        return self.tokens + told(raw) - counted

    def refresh(self) -> None:
        """Extend the lifetime of the prefixes that were read with this one.

        A request that finds nothing in the cache still stores the one before it again, since it has a breakpoint
        there, but none of the older ones.
        """
        one, used, seen = self, self.used, self.seen
        while (before := one.before) is not None:
            were = before.used, before.seen
            before.used = max(used, before.used)
            if one.did_read or one.edits == before.edits:
                before.seen = max(seen, before.seen)
            used = before.used if one.would_read else were[0]
            seen = before.seen if one.did_read else were[1]
            one = before


class Asked(NamedTuple):
    """A request about to be answered: where it ends, what it starts with by model, its time, its edits.

    `before`: the edits of the request before it.
    """

    end: End
    starts: Mapping[str, Prefix]
    at: int
    edits: tuple[int, int]
    before: tuple[int, int]

    def cached(self, model: str, ttl_ms: int, read: int, *, asks_more: bool = False) -> Prefix | None:
        """Return the longest prefix that is still cached for this model, near the end of this request or of the
        previous one, which may have gone to another model.

        `read`: the tokens that this request read. A prefix sent with the same edits that is not larger was among
        them, so it counts as near even if too many blocks follow it: the endpoint may not count thinking that the
        model can't read.

        `asks_more`: the last message has a question at its end, as in the request for a summary. Its breakpoints are
        before that message, so they do not find a request that ends with it.
        """
        one, last = self.starts.get(model), next(reversed([*self.starts.values()]), None)
        used = _NEVER
        if asks_more and one is not None and one.end == self.end:
            used, one = one.used, one.before  # that request has read or stored the one before it, too
        ends = [self.end.blocks, *([last.end.blocks] if last else [])]
        while one is not None:
            at = one.end.blocks
            is_warm = self.at - max(used, one.used) <= ttl_ms
            is_read = one.edits == self.edits and read >= SAME_PREFIX * one.prompt > 0
            if is_warm and (is_read or any(at <= end <= at + LOOK_BACK for end in ends)):
                break
            one, used = one.before, _NEVER
        return one


LARGEST_MINIMUM = 4_096
"""The length in tokens from which prompts are cached for every model."""


def read_without_prunes(
    start: Prefix | None,
    asked: Asked,
    read: int,
    ttl_ms: int,
    told: Callable[[int], int],
    preamble: int | None,
) -> int:
    """Return the tokens that a request would have read from the cache without prunes, when it read this many.

    `start` is the prefix that should be cached. `told` converts raw tokens of results. `preamble`: the tokens of
    system prompt and tools, with which all requests begin, None if prunes kept nothing out of this one. If the same
    edits were in effect when it was sent, the report shows what is left of it: if less was read, the endpoint lost
    the rest, with or without prunes. This request looks for it from its end, and from the end of the last request if
    that had the same edits. With other edits, it would have read at least what it read: after a summary, breakpoints
    store prefixes that are not whole requests.
    """
    if not read and preamble is not None and preamble >= LARGEST_MINIMUM:
        return 0  # the endpoint lost everything, which no prune causes
    if start is None:  # a prefix that prunes changed may be cached, but not the original
        return read if preamble is None else min(read, preamble)
    tokens = start.size(told)
    looks = asked.edits == asked.before or asked.end.blocks <= start.end.blocks + LOOK_BACK
    if start.edits != asked.edits or asked.at - start.seen > ttl_ms or not looks:
        return max(tokens, read)
    if read >= SAME_PREFIX * start.prompt:
        return tokens + max(0, read - start.prompt)
    return min(tokens, read + tokens - start.prompt) if read else 0


class Branch:
    """The requests of the current branch, and all earlier ones that it starts with."""

    def __init__(self) -> None:
        self._preamble = 0
        self._settings: dict[str, int] = {}
        self._ends: dict[End, dict[str, Prefix]] = {}
        self._seqs: list[int] = []
        self._blocks = [0]
        """The number of blocks, at the same places as in `_chain`."""
        self._chain = [0]
        """Hashes of the branch: at the start, then after each of `_seqs`."""
        self._starts: list[Mapping[str, Prefix]] = [{}]
        """The longest prefix of each model that the branch starts with, the last one last, at the same places."""
        self._asked = (0, 0)
        """The edits of the last request."""

    def clear(self) -> None:
        """Start again for a rewind."""
        self._cut(0)

    def _cut(self, at: int) -> None:
        for prefix in self._starts[-1].values():
            prefix.refresh()
        del self._seqs[at:], self._chain[at + 1 :], self._blocks[at + 1 :]
        self._restart()

    def _restart(self) -> None:
        """Look up again the prefixes that the branch starts with, since others may be stored now."""
        self._starts = [{}]
        for at in range(1, len(self._chain)):
            self._starts.append(self._started(at))

    def take(self, record: Record) -> None:
        """Add a record to the branch."""
        match record.event:
            case UserMessage(content=content) if all(isinstance(block, Text) for block in content):
                self._add(record.seq, plain_text(content), len(content))  # may be sent again after a rewind
            case UserMessage(content=content) | AssistantMessage(content=content):
                self._add(record.seq, record.seq, len(content))
            case ToolResult():
                self._add(record.seq, record.seq)
            case CompactionApplied(head_end=head_end, tail_start=tail_start, block=block):
                kept = self._blocks[-1] - self._blocks[bisect_left(self._seqs, tail_start)]
                self._cut(0 if block else bisect_right(self._seqs, head_end))
                self._add(record.seq, record.seq, 1 + kept)
            case _:
                pass

    def set(self, key: str, value: Json) -> None:
        """Record a setting: another preamble has its own prefixes."""
        if key in (PREAMBLE, SEARCHES):
            self._settings[key] = hash(repr(value))
            self._preamble = hash(tuple(self._settings.values()))
            self._restart()

    def _add(self, seq: int, key: object, blocks: int = 1) -> None:
        self._seqs.append(seq)
        self._chain.append(hash((self._chain[-1], key)))
        self._blocks.append(self._blocks[-1] + blocks)
        self._starts.append(self._started(-1))

    def _end(self, at: int = -1) -> End:
        return End(self._preamble, self._chain[at], self._blocks[at])

    def _started(self, at: int) -> Mapping[str, Prefix]:
        found = self._ends.get(self._end(at))
        return _newest_last(self._starts[-1], found) if found else self._starts[-1]

    def summarized(self, edits: tuple[int, int]) -> None:
        """Record the edits of the last request that a summary leaves in effect."""
        self._asked = edits

    def asks(self, at: int, edits: tuple[int, int]) -> Asked:
        """Return a request with the content of the branch."""
        return Asked(self._end(), self._starts[-1], at, edits, self._asked)

    def answered(
        self,
        asked: Asked,
        model: str,
        usage: Usage,
        withheld: int,
        held: tuple[int, int],
        at: int,
        start: Prefix | None,
    ) -> Asked:
        """Record a response: its content is cached from now on. Return the same request, to be sent again.

        `withheld`: the tokens kept out of the request; `held`: of these the held-back parts, raw and as counted.
        `start`: the prefix that would have been cached.
        """
        stored, read = usage.prompt_tokens - usage.input_tokens, usage.cache_read_input_tokens or 0
        before = self._before(asked, model, at, start, (stored + withheld, stored))
        did_read = before is not None and read >= SAME_PREFIX * before.prompt
        prefix = Prefix(
            asked.end, stored + withheld, stored, asked.edits, held, at, at, before, before is start, did_read
        )
        self._ends.setdefault(asked.end, {})[model] = prefix
        starts = _newest_last(asked.starts, {model: prefix})
        if self._end() == asked.end:
            self._starts[-1] = starts
        self._asked = asked.edits
        return asked._replace(starts=starts, at=at, before=asked.edits)

    def _before(
        self, asked: Asked, model: str, at: int, start: Prefix | None, whole: tuple[int, int]
    ) -> Prefix | None:
        """Return the newest prefix of a request. If it is another model's, this model has stored it now, since each
        request has a breakpoint at the end of the one before. Then this request kept alive only what it read. Without
        thinking of the other model, that prefix is smaller than it was, at most `whole`: this request without prunes,
        and as reported."""
        own = asked.starts.get(model)
        last = next(reversed([*asked.starts.values()]), None)
        if last is None or last is own or last.end == asked.end:
            return own
        seen = at if last.edits == asked.edits else _NEVER
        stored = Prefix(
            last.end,
            min(last.tokens, whole[0]),
            min(last.prompt, whole[1]),
            last.edits,
            last.held,
            at,
            seen,
            start,
            would_read=True,
            did_read=False,
        )
        self._ends[last.end][model] = stored
        return stored


def _newest_last(starts: Mapping[str, Prefix], found: Mapping[str, Prefix]) -> Mapping[str, Prefix]:
    return {**{model: one for model, one in starts.items() if model not in found}, **found}
