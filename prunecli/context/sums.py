"""Sums over numbered slots: of a range, and where they reach an amount, each in O(log n).

Slots are only ever appended; their numbers may change. Numbers are integers of up to 64 bits.
"""

from array import array


class Sums:
    """Numbers in a Fenwick tree. To search in it, none may be negative."""

    def __init__(self) -> None:
        self._values = array("q")
        self._tree = array("q", [0])

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, slot: int) -> int:
        return self._values[slot]

    def append(self, value: int) -> None:
        """A new last slot."""
        self._values.append(value)
        tree, end = self._tree, len(self._tree)
        first, at = end & (end - 1), end - 1
        while at > first:
            value += tree[at]
            at &= at - 1
        tree.append(value)

    def __setitem__(self, slot: int, value: int) -> None:
        change = value - self._values[slot]
        if change:
            self._values[slot] = value
            tree, at = self._tree, slot + 1
            while at < len(tree):
                tree[at] += change
                at += at & -at

    def before(self, stop: int) -> int:
        """The sum of the first `stop` slots."""
        tree, total = self._tree, 0
        while stop > 0:
            total += tree[stop]
            stop &= stop - 1
        return total

    def between(self, start: int, stop: int) -> int:
        """The sum of the slots from `start` to before `stop`, 0 where there are none."""
        return self.before(stop) - self.before(start) if start < stop else 0

    def reaching(self, stop: int, amount: int) -> int:
        """The last slot from which on the sum to before `stop` is at least `amount` (above 0); -1 for none."""
        rest = self.before(stop) - amount
        return self._longest(rest) if rest >= 0 else -1

    def following(self, start: int) -> int:
        """The first slot from `start` on whose number is not 0; the number of slots where there is none."""
        return self._longest(self.before(start))

    def _longest(self, amount: int) -> int:
        """How many leading slots, at most, sum to no more than `amount`."""
        tree, at = self._tree, 0
        step = 1 << (len(tree) - 1).bit_length()
        while step:
            if at + step < len(tree) and tree[at + step] <= amount:
                at += step
                amount -= tree[at]
            step >>= 1
        return at


class Dips:
    """Numbers that may be negative; finds where their running sum first falls below a limit.

    A binary tree over them, of which only what changed is worked out again when it is asked.
    """

    def __init__(self) -> None:
        self._values = array("q")
        self._changed: set[int] = set()
        self._room = 0
        self._sum: list[int] = []
        self._lowest: list[int] = []

    def __len__(self) -> int:
        return len(self._values)

    def append(self, value: int) -> None:
        """A new last slot."""
        self._changed.add(len(self._values))
        self._values.append(value)

    def __setitem__(self, slot: int, value: int) -> None:
        if value != self._values[slot]:
            self._values[slot] = value
            self._changed.add(slot)

    def first_below(self, limit: int) -> int:
        """The first slot at whose end the sum of all slots up to it is below `limit`; -1 for none."""
        self._catch_up()
        sums, lowest, at, before = self._sum, self._lowest, 1, 0
        if not self._room or lowest[1] >= limit:
            return -1
        while at < self._room:
            at *= 2
            if before + lowest[at] >= limit:
                before += sums[at]
                at += 1
        return at - self._room

    def _catch_up(self) -> None:
        depth = self._room.bit_length()
        if len(self._values) > self._room or len(self._changed) * depth > self._room:
            self._rebuild()
        for slot in self._changed:
            at = self._room + slot
            self._sum[at] = self._lowest[at] = self._values[slot]
            while at > 1:
                at >>= 1
                self._join(at)
        self._changed.clear()

    def _join(self, at: int) -> None:
        left = 2 * at
        self._sum[at] = self._sum[left] + self._sum[left + 1]
        self._lowest[at] = min(self._lowest[left], self._sum[left] + self._lowest[left + 1])

    def _rebuild(self) -> None:
        self._changed.clear()
        self._room = 1 << max(0, len(self._values) - 1).bit_length()
        padding = [0] * (self._room - len(self._values))
        self._sum = [0] * self._room + list(self._values) + padding
        self._lowest = list(self._sum)
        for at in range(self._room - 1, 0, -1):
            self._join(at)
