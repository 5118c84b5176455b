"""Which nodes of the inspector's tree are listed: what is unfolded, and what the list is filtered by."""

from collections.abc import Iterator

from prunecli.context.labels import Key
from prunecli.context.outline import Outline, Row


class Folds:
    """Everything is folded, or unfolded, but for the nodes that were turned the other way."""

    def __init__(self) -> None:
        self.words = ""
        self._unfolded = False
        self._turned: set[Key] = set()

    def is_open(self, key: Key) -> bool:
        """Whether a node is unfolded."""
        return (key in self._turned) is not self._unfolded

    def turn(self, key: Key) -> None:
        """Folds what is unfolded, unfolds what is folded."""
        self._turned.symmetric_difference_update({key})

    def turn_all(self, *, unfolded: bool) -> None:
        """Every node the same way."""
        self._unfolded = unfolded
        self._turned.clear()

    def list_in_steps(self, outline: Outline, rows: list[Row]) -> Iterator[None]:
        """Appends the rows that are listed now. It is begun anew after a change."""
        if self.words:
            return outline.found_in_steps(self.words, rows)
        return outline.rows_in_steps(self.is_open, rows)
