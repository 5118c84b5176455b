"""Tokens of the results of each tool in the context, kept up to date item by item."""

from collections import Counter
from collections.abc import Mapping
from operator import add, sub
from typing import NamedTuple

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.inspector.carry_cost import Rides


class ToolSum(NamedTuple):
    """Results of one tool, in raw tokens.

    `base` and `tokens` give the carried tokens, as in `measured.Sums`, without those `spared` because the endpoint
    cleared them. `cleared` is the part that the endpoint is expected to clear from the next request.
    """

    results: int = 0
    pruned: int = 0
    tokens: int = 0
    original: int = 0
    base: int = 0
    cleared: int = 0
    spared: int = 0

    @property
    def left(self) -> int:
        """The tokens that the model sees in the next request."""
        return max(0, self.tokens - self.cleared)

    def carried(self, requests: int) -> int:
        """Return the carried tokens: each token times the requests that included it."""
        return max(0, self.base + self.tokens * requests - self.spared)


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

    def largest_first(self, context: Context, spared: Mapping[int, int]) -> list[tuple[str, ToolSum]]:
        """Return each tool with its sums in the endpoint's tokens, largest in the next request first.

        `spared`: tokens that requests did not carry because the endpoint cleared them, by entry.
        """
        told, cleared = context.counts.told_raw, _by_tool(context, context.counts.cleared)
        not_carried = _by_tool(context, spared)
        there = [
            (
                name,
                one._replace(
                    tokens=told(one.tokens),
                    original=told(one.original),
                    base=told(one.base),
                    cleared=cleared[name],
                    spared=not_carried[name],
                ),
            )
            for name, one in self._totals.items()
            if one.results
        ]
        return sorted(there, key=lambda one: (-one[1].left, -one[1].original, one[0]))


def _by_tool(context: Context, tokens: Mapping[int, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for seq, many in tokens.items():
        if (entry := context.entries[seq]).prunable:
            found[entry.tool_name] += many
    return found


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
