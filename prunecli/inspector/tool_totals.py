"""Tokens of the results of each tool in the context, and of other prunable content, kept up to date item by item."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.context.tokens import NOTHING as NONE
from prunecli.inspector.carry_cost import Rides
from prunecli.inspector.measured import NOTHING, Sums


class ToolSum(NamedTuple):
    """Results of one tool, in tokens as the endpoint counts them.

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
        self._items: dict[int, dict[str, Sums]] = {}
        self._totals: dict[str, Sums] = {}

    def count(self, context: Context, rides: Rides, item: Entry) -> None:
        """Count a user message, a summary, or an exchange by its head."""
        for name, old in self._items.pop(item.seq, {}).items():
            self._totals[name] = self._totals[name].minus(old)
        parts = item.exchange.results if item.exchange else [item] if item.prunable else []
        if not parts:
            return
        found = self._items[item.seq] = dict[str, Sums]()
        for entry in parts:
            name = _name(entry)
            found[name] = found.get(name, NOTHING).plus(_sums(context, rides, entry))
        for name, new in found.items():
            self._totals[name] = self._totals.get(name, NOTHING).plus(new)

    def largest_first(self, context: Context, spared: Mapping[int, int]) -> list[tuple[str, ToolSum]]:
        """Return each tool with its sums in the endpoint's tokens, largest in the next request first.

        `spared`: tokens that requests did not carry because the endpoint cleared them, by entry.
        """
        tokens, cleared = context.counts.scale.tokens, _by_tool(context, context.counts.cleared)
        not_carried = _by_tool(context, spared)
        there = [
            (
                name,
                ToolSum(
                    one.prunable,
                    one.pruned,
                    tokens(*one.shown),
                    tokens(*one.whole),
                    tokens(*one.base),
                    cleared[name],
                    not_carried[name],
                ),
            )
            for name, one in self._totals.items()
            if one.prunable
        ]
        return sorted(there, key=lambda one: (-one[1].left, -one[1].original, one[0]))


def _by_tool(context: Context, tokens: Mapping[int, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for seq, many in tokens.items():
        if (entry := context.entries[seq]).prunable:
            found[_name(entry)] += many
    return found


def _name(entry: Entry) -> str:
    """Return the tool of a result; for other entries, what they are, because no call of the model made them."""
    if entry.kind == "result":
        return entry.tool_name
    if entry.is_attached:
        return "attachments"
    return "your commands" if entry.call else "notices"


def _sums(context: Context, rides: Rides, entry: Entry) -> Sums:
    counts, edit = context.counts, context.text_edit(entry.seq)
    hidden = entry.exchange is not None and context.dropped(entry.exchange)
    shown = NONE if hidden else counts.amount(entry, edit)
    base = rides.carried(entry, counts).minus(shown.times(rides.requests))
    pruned = int(hidden or edit is not None)
    return Sums(shown=shown, whole=counts.amount(entry), base=base, prunable=1, pruned=pruned)
