"""The characters and images of all messages, as sums that are updated for the items that changed."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from prunecli.context.counted import Item
from prunecli.context.exchange import Entry
from prunecli.model.edits import Edit


class Length(NamedTuple):
    """The characters of some content, without images, and the number of its images and documents."""

    chars: int = 0
    images: int = 0


_NOTHING = Length()


class Lengths:
    """The length of a context. `shown_chars` returns the characters of an entry under an edit or as is."""

    def __init__(self, shown_chars: Callable[[Entry, Edit | None], int]) -> None:
        self._shown_chars = shown_chars
        self.changed = set[int]()
        """The items to measure again, by seq."""
        self._known: dict[int, Length] = {}
        self._sum = _NOTHING

    def of(self, items: Mapping[int, Item]) -> Length:
        """Return the length of all items. Costs O(changed items)."""
        chars, images = self._sum
        for seq in self.changed:
            before = self._known.pop(seq, _NOTHING)
            if item := items.get(seq):
                self._known[seq] = now = self._measured(item)
            else:
                now = _NOTHING
            chars, images = chars + now.chars - before.chars, images + now.images - before.images
        self.changed.clear()
        self._sum = Length(chars, images)
        return self._sum

    def _measured(self, item: Item) -> Length:
        shown, edits = () if item.hidden else item.parts, item.edits
        chars = sum([self._shown_chars(part, edits.get(part.seq)) for part in shown])
        return Length(
            chars, sum([part.images for part in item.parts if not item.hides(part) and part.image_tokens])
        )
