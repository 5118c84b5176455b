"""Which records lead to the present: a rewind goes back to the state as of an earlier record.

`Rewound(t)` makes the context what it was right after record t, rewinds before it included; so a rewind can be
undone by rewinding to a record of the branch that was left.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable

from prunecli.model.events import (
    FilesSaved,
    Record,
    RequestSent,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingChanged,
)

_ASIDE = (FilesSaved, RequestSent, RunEnded, SessionStarted, SettingChanged)
"""Events of no branch: they hold whatever was rewound."""


class Lineage:
    """The tree of records that matter to the context, and its present branch."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._parents = array("q")  # places of records, as are heads; numbers are kept small: there are many
        self._times = array("q")
        self._heads = array("q")

    @property
    def _head(self) -> int:
        """The place of the present branch's last record, -1 at the start."""
        return self._heads[-1] if self._heads else -1

    def append(self, record: Record) -> None:
        """The present branch goes on with this record."""
        self._parents.append(self._head)
        self._times.append(record.seq)
        self._heads.append(len(self._records))
        self._records.append(record)

    def rewind(self, seq: int, to_seq: int) -> list[Record]:
        """Record `seq` goes back to the state as of `to_seq`; the records of that branch, oldest first."""
        at = bisect_right(self._times, to_seq)
        self._times.append(seq)
        self._heads.append(self._heads[at - 1] if at else -1)
        branch: list[Record] = []
        where = self._head
        while where >= 0:
            branch.append(self._records[where])
            where = self._parents[where]
        return branch[::-1]


def branch(records: Iterable[Record]) -> tuple[list[Record], list[int]]:
    """The records that lead to the present, and the ends of the branches that rewinds have left and that are not
    part of it, the newest rewind first."""
    lineage, present, left = Lineage(), list[Record](), list[int]()
    for record in records:
        if isinstance(record.event, Rewound):
            left += [other.seq for other in present if not isinstance(other.event, _ASIDE)][-1:]
            present = lineage.rewind(record.seq, record.event.to_seq)
        else:
            lineage.append(record)
            present.append(record)
    if not left:
        return present, []
    here = {record.seq for record in present}
    return present, [seq for seq in dict.fromkeys(reversed(left)) if seq not in here]
