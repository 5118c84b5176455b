"""The records that lead to the current state. A rewind returns to the state of an earlier record.

`Rewound(t)` makes the context what it was right after record t, including earlier rewinds. So rewinding to a record
of the abandoned branch undoes a rewind.
"""

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
    """The records that affect the context, on all branches, and the rewinds between them."""

    def __init__(self) -> None:
        self._steps: list[Record | tuple[int, int]] = []
        """Each record, or the seq of a rewind and that of its target."""

    def append(self, record: Record) -> None:
        """Add this record to the current branch."""
        self._steps.append(record)

    def rewind(self, seq: int, to_seq: int) -> list[Record]:
        """Rewind at record `seq` to the state of `to_seq`; return that branch's records, oldest first."""
        self._steps.append((seq, to_seq))
        times, heads, parents = list[int](), list[int](), list[int]()
        head = -1  # the place of the current branch's last record; -1 at the start
        for place, step in enumerate(self._steps):
            parents.append(head)
            if isinstance(step, Record):
                times.append(step.seq)
                head = place
            else:
                at = bisect_right(times, step[1])
                times.append(step[0])
                head = heads[at - 1] if at else -1
            heads.append(head)
        branch: list[Record] = []
        while head >= 0:
            step = self._steps[head]
            assert isinstance(step, Record)  # noqa: S101  # heads are the places of records
            branch.append(step)
            head = parents[head]
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
