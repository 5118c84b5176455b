"""The position of each block: heights in pages with a sum per page, so that no query walks all blocks.

Updating a height is O(1); finding the block at a row, the row of a block or a neighbor is O(pages + page size).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, Protocol, TypeVar

PAGE_SIZE = 512


class Measured(Protocol):
    """An object with a height in rows. The index sets its page and its position."""

    height: int
    page: Any


T = TypeVar("T", bound=Measured)


class Page(Generic[T]):
    """A sequence of consecutive blocks. `below` caches the row below each block."""

    __slots__ = ("below", "blocks", "height")

    def __init__(self) -> None:
        self.blocks: list[T] = []
        self.height = 0
        self.below: list[int] | None = None

    def sums(self) -> list[int]:
        if self.below is None:
            self.below = list(accumulate([block.height for block in self.blocks]))
        return self.below


class Heights(Generic[T]):
    """The blocks in order. `total` is the sum of their heights."""

    def __init__(self) -> None:
        self._pages: list[Page[T]] = [Page()]
        self.total = 0

    def append(self, block: T) -> None:
        page = self._pages[-1]
        if len(page.blocks) >= PAGE_SIZE:
            page = Page()
            self._pages.append(page)
        page.blocks.append(block)
        self._grown(page, block)

    def prepend(self, blocks: Sequence[T]) -> None:
        pages: list[Page[T]] = []
        for start in range(0, len(blocks), PAGE_SIZE):
            page: Page[T] = Page()
            page.blocks = list(blocks[start : start + PAGE_SIZE])
            page.height = sum([block.height for block in page.blocks])
            for block in page.blocks:
                block.page = page
            self.total += page.height
            pages.append(page)
        self._pages[:0] = pages
        if len(self._pages) > 1 and not self._pages[-1].blocks:
            self._pages.pop()

    def insert_after(self, above: T, block: T) -> None:
        page: Page[T] = above.page
        if page.blocks[-1] is above:  # the usual case while text streams
            page.blocks.append(block)
        else:
            page.blocks.insert(page.blocks.index(above) + 1, block)
        self._grown(page, block)
        if len(page.blocks) > 2 * PAGE_SIZE:
            self._split(page)

    def _grown(self, page: Page[T], block: T) -> None:
        block.page = page
        page.height += block.height
        page.below = None
        self.total += block.height

    def _split(self, page: Page[T]) -> None:
        rest: Page[T] = Page()
        rest.blocks = page.blocks[PAGE_SIZE:]
        del page.blocks[PAGE_SIZE:]
        for block in rest.blocks:
            block.page = rest
        rest.height = sum([block.height for block in rest.blocks])
        page.height -= rest.height
        page.below = None
        self._pages.insert(self._pages.index(page) + 1, rest)

    def remove(self, block: T) -> None:
        page: Page[T] = block.page
        page.blocks.remove(block)
        page.height -= block.height
        page.below = None
        self.total -= block.height
        block.page = None
        if not page.blocks and len(self._pages) > 1:
            self._pages.remove(page)

    def resize(self, block: T, height: int) -> None:
        more = height - block.height
        if more:
            block.height = height
            block.page.height += more
            block.page.below = None
            self.total += more

    def recount(self) -> None:
        """Recompute everything after all heights changed."""
        self.total = 0
        for page in self._pages:
            page.below = None
            page.height = sum([block.height for block in page.blocks])
            self.total += page.height

    def at(self, y: int) -> tuple[T, int] | None:
        """Return the block at a row and the row within it; rows outside are clamped."""
        if not self.total:
            return None
        y = max(0, min(y, self.total - 1))
        below = list(accumulate([page.height for page in self._pages]))
        number = bisect_right(below, y)
        page = self._pages[number]
        y -= below[number] - page.height
        place = bisect_right(page.sums(), y)
        block = page.blocks[place]
        return block, y - (page.sums()[place] - block.height)

    def top_of(self, block: T) -> int:
        y = 0
        for page in self._pages:
            if page is block.page:
                break
            y += page.height
        place = block.page.blocks.index(block)
        below: int = block.page.sums()[place]
        return y + below - block.height

    def beside(self, block: T, step: int) -> T | None:
        """Return the block below (`step` 1) or above (-1) another; None at the ends."""
        page: Page[T] = block.page
        place = page.blocks.index(block) + step
        if 0 <= place < len(page.blocks):
            return page.blocks[place]
        number = self._pages.index(page) + step
        if not 0 <= number < len(self._pages):
            return None
        return self._pages[number].blocks[0 if step > 0 else -1]

    @property
    def first(self) -> T | None:
        return self._pages[0].blocks[0] if self._pages[0].blocks else None

    @property
    def last(self) -> T | None:
        return self._pages[-1].blocks[-1] if self._pages[-1].blocks else None

    def __iter__(self) -> Iterator[T]:
        for page in self._pages:
            yield from page.blocks
