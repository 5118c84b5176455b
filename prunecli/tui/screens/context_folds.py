"""The nodes listed in the inspector's tree: folds, filter and order."""

from prunecli.inspector.labels import Key
from prunecli.inspector.listing import Found, Listing, Rows
from prunecli.inspector.outline import Outline
from prunecli.inspector.ranking import ORDERS, Order, Ranked


class Folds:
    """The default fold state, and the nodes that differ from the default."""

    def __init__(self) -> None:
        self.words = ""
        self.by: Order = "order"
        self._unfolded = False
        self._turned: set[Key] = set()

    def turn(self, key: Key) -> None:
        self._turned.symmetric_difference_update({key})

    def turn_all(self, *, unfolded: bool) -> None:
        self._unfolded = unfolded
        self._turned.clear()

    def unfold(self, *keys: Key) -> None:
        """Unfold those of these nodes that are folded."""
        if self._unfolded:
            self._turned.difference_update(keys)
        else:
            self._turned.update(keys)

    def next_order(self) -> None:
        self.by = ORDERS[(ORDERS.index(self.by) + 1) % len(ORDERS)]

    def rows(self, outline: Outline) -> Rows:
        if self.by != "order":
            return Ranked(outline, self.by, self.words)
        if self.words:
            return Found(outline, self.words)
        return Listing(outline, self._turned, unfolded=self._unfolded)
