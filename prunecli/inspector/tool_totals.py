"""Tokens of the results of each tool in the context, kept up to date item by item."""

from collections.abc import Callable
from operator import add, sub
from typing import NamedTuple

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.inspector.carry_cost import Rides


class ToolSum(NamedTuple):
    """Results of one tool, in raw tokens.

    `base` and `tokens` give the carried ones, as in `measured.Sums`.
    """

    results: int = 0
    pruned: int = 0
    tokens: int = 0
    original: int = 0
    base: int = 0

    def carried(self, requests: int) -> int:
        """Carried tokens: each token times the requests that included it."""
        return self.base + self.tokens * requests


class ToolTotals:
    """Sums by tool over all counted items; counting an item again replaces its part."""

    def __init__(self) -> None:
        self._items: dict[int, dict[str, ToolSum]] = {}
        self._totals: dict[str, ToolSum] = {}

    def count(self, context: Context, rides: Rides, item: Entry) -> None:
        """Count a user message, a summary, or an exchange by its head."""
        for name, old in self._items.pop(item.seq, {}).items():
            self._totals[name] = ToolSum(*map(sub, self._totals[name], old))
        parts = item.exchange.results if item.exchange else [item] if item.prunable else []
        if not parts:
            return
        found = self._items[item.seq] = dict[str, ToolSum]()
        for entry in parts:
            found[entry.tool_name] = _plus(found.get(entry.tool_name), _sum(context, rides, entry))
        for name, new in found.items():
            self._totals[name] = _plus(self._totals.get(name), new)

    def largest_first(self, told: Callable[[int], int]) -> list[tuple[str, ToolSum]]:
        """Each tool with its sums, largest in the next request first; `told` converts raw tokens."""
        there = [
            (name, ToolSum(one.results, one.pruned, *map(told, (one.tokens, one.original, one.base))))
            for name, one in self._totals.items()
            if one.results
        ]
        return sorted(there, key=lambda one: (-one[1].tokens, -one[1].original, one[0]))


def _plus(one: ToolSum | None, other: ToolSum) -> ToolSum:
    return ToolSum(*map(add, one, other)) if one else other


def _sum(context: Context, rides: Rides, entry: Entry) -> ToolSum:
    counts, edit = context.counts, context.text_edit(entry.seq)
    hidden = entry.exchange is not None and context.dropped(entry.exchange)
    original = counts.tokens(entry)
    shown = 0 if hidden else counts.shown_tokens(entry, edit)
    carried = rides.carried(entry, counts).raw
    pruned = int(hidden or edit is not None)
    return ToolSum(1, pruned, shown, original, carried - shown * rides.requests)
