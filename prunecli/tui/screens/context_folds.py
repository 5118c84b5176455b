"""Which nodes of the inspector's tree are listed: what is unfolded, and what the list is filtered by."""

from prunecli.context.labels import Key
from prunecli.context.listing import Found, Listing, Rows
from prunecli.context.outline import Outline


class Folds:
    """Everything is folded, or unfolded, but for the nodes that were turned the other way."""

    def __init__(self) -> None:
        self.words = ""
        self._unfolded = False
        self._turned: set[Key] = set()

    def turn(self, key: Key) -> None:
        """Folds what is unfolded, unfolds what is folded."""
        self._turned.symmetric_difference_update({key})

    def turn_all(self, *, unfolded: bool) -> None:
        """Every node the same way."""
        self._unfolded = unfolded
        self._turned.clear()

    def rows(self, outline: Outline) -> Rows:
        """The rows that are listed now, none of whose steps was taken. They are made anew after a change."""
        return (
            Found(outline, self.words)
            if self.words
            else Listing(outline, self._turned, unfolded=self._unfolded)
        )
