"""The contents of the window: the next request by kind of content, free space, and the reserve for the answer.

The parts add up to the window exactly; the parts of messages are the sums of the tree's rows. The total is the
ledger's figure, and the rest of it is system prompt and tools.
"""

from dataclasses import replace
from typing import Literal, TypeAlias

from prunecli.context.clearing import NO_CLEARING, Clearing
from prunecli.context.tokens import apportioned
from prunecli.frozen import frozen
from prunecli.inspector.outline import Outline

Part: TypeAlias = Literal[
    "system", "instructions", "tools", "user", "answers", "results", "notes", "free", "reserve"
]
USED: tuple[Part, ...] = ("system", "instructions", "tools", "user", "answers", "results", "notes")
PARTS: tuple[Part, ...] = (*USED, "free", "reserve")
"""The parts in drawing order; notes are memos and summaries."""


@frozen
class WindowMap:
    """Tokens of each part, in the order of PARTS.

    `used` of `window` is the whole next request. A context larger than its window has no free part and no reserve:
    its parts sum to `used`. `pruned` is withheld content, `held` the part of long results that was never sent, and
    `cleared` the content that the endpoint is expected to clear itself. `measured`: the endpoint has counted exactly
    this context. The parts are always estimates.
    """

    tokens: tuple[int, ...]
    used: int
    window: int
    pruned: int
    measured: bool
    cleared: Clearing = NO_CLEARING
    held: int = 0

    def of(self, part: Part) -> int:
        """Return the tokens of a part."""
        return self.tokens[PARTS.index(part)]

    @property
    def share(self) -> float:
        """The used share of the window, as shown in the status bar and `/prune-stats`."""
        return self.used / self.window if self.window else 0.0

    def cells(self, count: int) -> list[Part]:
        """Return the window as this many cells, in proportion; each nonempty part gets at least one."""
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


def window_map(outline: Outline, window: int, reserve: int, pruned: int, held: int = 0) -> WindowMap:
    """Compute the current map.

    `reserve`: tokens kept for the answer; `pruned` and `held`: the ledger's figures. Costs O(entries) once and
    O(touched) afterwards.
    """
    counts, sums = outline.context.counts, outline.whole
    scale, used = counts.scale, counts.context_tokens
    parts = dict.fromkeys(USED, 0)
    for key, tokens in outline.preamble:
        parts[_PREAMBLE[key.kind]] += tokens
    parts["user"] = scale.tokens(*sums.user)
    parts["results"] = max(0, scale.tokens(*sums.results) - counts.clearing.tokens)
    parts["notes"] = scale.tokens(*sums.notes)
    parts["answers"] = max(0, used - sum(parts.values()))
    parts[max(USED, key=lambda part: parts[part])] -= sum(parts.values()) - used  # the rounding remainder
    kept = max(0, min(reserve, window - used))
    free = max(0, window - used - kept)
    whole = undivided(outline, window, pruned, held)
    return replace(whole, tokens=(*(parts[part] for part in USED), free, kept))


def undivided(outline: Outline, window: int, pruned: int, held: int = 0) -> WindowMap:
    """Return a map without parts, which shows only how full the window is until the breakdown is known."""
    counts = outline.context.counts
    return WindowMap(
        (0,) * len(PARTS), counts.context_tokens, window, pruned, counts.is_reported, counts.clearing, held
    )


_PREAMBLE: dict[str, Part] = {"system": "system", "instructions": "instructions", "tools": "tools"}
