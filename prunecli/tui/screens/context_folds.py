"""Which nodes of the inspector's tree are listed: what is unfolded, the filter, the order."""

from prunecli.context.labels import Key
from prunecli.context.listing import Found, Listing, Rows
from prunecli.context.outline import Outline
from prunecli.context.ranking import ORDERS, Order, Ranked


class Folds:
    """Everything is folded, or unfolded, but for the nodes that were turned the other way."""

    def __init__(self) -> None:
        self.words = ""
        self.by: Order = "order"
        self._unfolded = False
        self._turned: set[Key] = set()

    def turn(self, key: Key) -> None:
        """Folds what is unfolded, unfolds what is folded."""
        self._turned.symmetric_difference_update({key})

    def turn_all(self, *, unfolded: bool) -> None:
        """Every node the same way."""
        self._unfolded = unfolded
        self._turned.clear()

    def unfold(self, *keys: Key) -> None:
        """Unfolds what is folded of these."""
        if self._unfolded:
            self._turned.difference_update(keys)
        else:
            self._turned.update(keys)

    def next_order(self) -> None:
        """Lists by the next thing: as a flat list, or after the last one as the tree."""
        self.by = ORDERS[(ORDERS.index(self.by) + 1) % len(ORDERS)]

    def rows(self, outline: Outline) -> Rows:
        """The rows that are listed now, none of whose steps was taken. They are made anew after a change."""
        if self.by != "order":
            return Ranked(outline, self.by, self.words)
        if self.words:
            return Found(outline, self.words)
        return Listing(outline, self._turned, unfolded=self._unfolded)
