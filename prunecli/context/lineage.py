"""The records that lead to the current state. A rewind returns to the state of an earlier record.

`Rewound(t)` makes the context what it was right after record t, including earlier rewinds. So rewinding to a record
of the abandoned branch undoes a rewind.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable

from prunecli.model.events import (
    AttemptBilled,
    FilesSaved,
    Record,
    RequestSent,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingChanged,
)

_ASIDE = (AttemptBilled, FilesSaved, RequestSent, RunEnded, SessionStarted, SettingChanged)
"""Events that belong to no branch: rewinds do not affect them."""


class Lineage:
    """The tree of records that affect the context, and its current branch."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._parents = array("q")  # indices of records, like heads; compact, since there are many
        self._times = array("q")
        self._heads = array("q")

    @property
    def _head(self) -> int:
        """The place of the current branch's last record, -1 at the start."""
        return self._heads[-1] if self._heads else -1

    def append(self, record: Record) -> None:
        """Add this record to the current branch."""
        heads = self._heads
        self._parents.append(heads[-1] if heads else -1)
        self._times.append(record.seq)
        heads.append(len(self._records))
        self._records.append(record)

    def rewind(self, seq: int, to_seq: int) -> list[Record]:
        """Rewind at record `seq` to the state of `to_seq`; return that branch's records, oldest first."""
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
    """Return the records that lead to the current state, and the ends of abandoned branches, newest rewind first."""
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
