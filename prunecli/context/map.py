"""How the window is filled: the next request by what it holds, what is free, and what the answer may need.

The parts sum to the window exactly. What is used is the ledger's figure, anchored on what the endpoint reported;
it is divided in proportion to the estimates of the parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from prunecli.context.outline import Outline

Part: TypeAlias = Literal[
    "system", "instructions", "tools", "user", "answers", "results", "notes", "free", "reserve"
]
USED: tuple[Part, ...] = ("system", "instructions", "tools", "user", "answers", "results", "notes")
PARTS: tuple[Part, ...] = (*USED, "free", "reserve")
"""In the order in which they are drawn; notes are memos and summaries."""


@dataclass(frozen=True, slots=True)
class WindowMap:
    """Tokens of each part, in the order of PARTS. `used` of `window` is the whole next request.

    A context that is larger than its window has no free part and no reserve: its parts sum to `used`.
    `pruned` is what is withheld (raw, as in the ledger), `measured` whether the endpoint has reported a request.
    `per_estimate` is how many tokens the endpoint counts for one of the estimates.
    """

    tokens: tuple[int, ...]
    used: int
    window: int
    pruned: int
    measured: bool
    per_estimate: float

    def of(self, part: Part) -> int:
        """Tokens of a part."""
        return self.tokens[PARTS.index(part)]

    @property
    def share(self) -> float:
        """The used share of the window, as the status bar and `/prune-stats` have it."""
        return self.used / self.window if self.window else 0.0

    def cells(self, count: int) -> list[Part]:
        """The window as so many cells: each part as many as its share, a part that is there at least one."""
        there = [part for part in PARTS if self.of(part) > 0]
        if count < len(there):
            there = sorted(sorted(there, key=self.of, reverse=True)[:count], key=PARTS.index)
        if not there:
            return []
        extra = apportioned(count - len(there), [self.of(part) for part in there])
        wanted = apportioned(count, [self.of(part) for part in there])
        if min(wanted) > 0:
            extra = [cells - 1 for cells in wanted]
        return [part for part, cells in zip(there, extra, strict=True) for _ in range(cells + 1)]


def window_map(outline: Outline, window: int, reserve: int, pruned: int) -> WindowMap:
    """The map of now. `reserve` are the tokens that are kept for the answer, `pruned` the ledger's figure.

    Costs O(entries) once and O(touched) afterwards.
    """
    context, sums = outline.context, outline.whole
    estimates = dict.fromkeys(USED, 0)
    for key, tokens in outline.preamble:
        estimates[_PREAMBLE[key.kind]] += tokens
    estimates["user"], estimates["answers"] = sums.user, sums.assistant
    estimates["results"], estimates["notes"] = sums.results, sums.notes
    raw = [estimates[part] for part in USED]
    used = context.tally.context_tokens
    parts = apportioned(used, raw)
    kept = max(0, min(reserve, window - used))
    free = max(0, window - used - kept)
    rate = used / sum(raw) if sum(raw) else 1.0
    return replace(undivided(outline, window, pruned), tokens=(*parts, free, kept), per_estimate=rate)


def undivided(outline: Outline, window: int, pruned: int) -> WindowMap:
    """How full the window is, before it is known of what: a map without parts."""
    tally = outline.context.tally
    return WindowMap((0,) * len(PARTS), tally.context_tokens, window, pruned, tally.anchor.tokens > 0, 1.0)


_PREAMBLE: dict[str, Part] = {"system": "system", "instructions": "instructions", "tools": "tools"}


def apportioned(total: int, weights: Sequence[int]) -> list[int]:
    """`total` divided in proportion to the weights, in whole numbers that sum to it (largest remainder)."""
    whole = sum(weights)
    if whole <= 0:
        return [total if at == 0 else 0 for at in range(len(weights))]
    parts = [total * weight // whole for weight in weights]
    by_rest = sorted(range(len(weights)), key=lambda at: (-(total * weights[at] % whole), at))
    for at in by_rest[: total - sum(parts)]:
        parts[at] += 1
    return parts
