"""The lines below the inspector's tree: the marked node, and the effect that each key would have on it."""

from collections.abc import Sequence

from textual.content import Content

from prunecli.inspector.nodes import Row
from prunecli.inspector.ranking import Order
from prunecli.runtime import Runtime
from prunecli.runtime.inspecting import Inspecting
from prunecli.tui.screens.context_map import SMALL, TALL
from prunecli.tui.screens.context_words import KEYS, ORDER, detail, hint, preview
from prunecli.tui.widgets.fitting import Piece, fitted

MANY_RESULTS = 300
"""Number of results in a turn above which previews wait until the mark rests."""


class Previews:
    """The preview lines, node by node. `is_waiting`: the mark must rest before they are computed."""

    def __init__(self, runtime: Runtime, inspecting: Inspecting) -> None:
        self._runtime = runtime
        self._inspecting = inspecting
        self.is_waiting = False
        self._idle: set[str] = set()
        self._words: dict[str, str] = {}

    def hints(self, by: Order) -> list[Piece]:
        """Return the keys, dimmed if they would do nothing to the last node, and the current order."""
        return hint(self._idle, {**self._words, "s": "sort" if by == "order" else f"sort: {by}"})

    def look(self, row: Row | None, none: str, size: tuple[int, int], *, has_rested: bool) -> Content:
        """Return the node and its previews, always in the same number of lines, so that nothing jumps.

        The number of lines depends on the size of the screen. `none` is shown if no node is marked.
        """
        width, most = max(10, size[0] - 2), 1 if size[1] < SMALL else 3 if size[1] < TALL else len(ORDER)
        lines = [*self._lines(row, none, width, most, has_rested=has_rested), *[Content("")] * most]
        return Content("\n").join([line.truncate(width, ellipsis=True) for line in lines[: most + 1]])

    def _lines(
        self, row: Row | None, none: str, width: int, most: int, *, has_rested: bool
    ) -> Sequence[Content]:
        inspecting = self._inspecting
        node = inspecting.node(row.key) if row else None
        self._idle = {"p", "m", "r", "R", "P", "Enter"} if node is None else set()
        self._idle |= {"d"} if inspecting.outline.rides.requests < 2 else set()
        self._words, self.is_waiting = {}, False
        if row is None or node is None:
            return [Content("No longer in the context" if row else none)]
        prices = self._runtime.policy.market.prices_for(inspecting.map.used)
        read = prices and prices.read
        about = fitted(detail(node, inspecting.why(row.key), read), (), width)
        self.is_waiting = node.results > MANY_RESULTS and not has_rested
        if self.is_waiting or not inspecting.is_measured:
            return [about, *[Content("…")] * most]
        planned = {act: inspecting.plan(act, row.key) for act in ORDER}
        self._idle |= {KEYS[act] for act, one in planned.items() if not one.allowed}
        self._words = {"P": "unpin"} if planned["pin"].what.startswith("unpin ") else {}
        able = [(act, one) for act, one in planned.items() if one.allowed][:most]
        window = inspecting.map.window
        lines = [preview(act, one, inspecting.impact(one), window) for act, one in able]
        return [about, *(fitted(*line, width) for line in lines)]
