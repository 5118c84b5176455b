"""Which records lead to the present: a rewind goes back to the state as of an earlier record.

`Rewound(t)` makes the context what it was right after record t, rewinds before it included; so a rewind can be
undone by rewinding to a record of the branch that was left.
"""

from bisect import bisect_right

from prunecli.model.events import Record


class Lineage:
    """The tree of records that matter to the context, and its present branch."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}
        self._parents: dict[int, int] = {}
        self._times: list[int] = []
        self._heads: list[int] = []

    @property
    def head(self) -> int:
        """The seq of the present branch's last record, -1 at the start."""
        return self._heads[-1] if self._heads else -1

    def append(self, record: Record) -> None:
        """The present branch goes on with this record."""
        self._records[record.seq] = record
        self._parents[record.seq] = self.head
        self._times.append(record.seq)
        self._heads.append(record.seq)

    def rewind(self, seq: int, to_seq: int) -> list[Record]:
        """Record `seq` goes back to the state as of `to_seq`; the records of that branch, oldest first."""
        at = bisect_right(self._times, to_seq)
        self._times.append(seq)
        self._heads.append(self._heads[at - 1] if at else -1)
        branch: list[Record] = []
        where = self.head
        while where >= 0:
            branch.append(self._records[where])
            where = self._parents[where]
        return branch[::-1]
