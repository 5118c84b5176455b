"""Where a session can go back to, and which files the agent changed since: read from the records alone.

The files at a point of the log are those of the first snapshot after it: nothing was changed in between. What the
agent changed is what differs between a snapshot `before` and the one `after` it; hand edits lie outside of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from prunecli.context.lineage import branch
from prunecli.model.events import FilesSaved, Record, UserMessage
from prunecli.model.notes import typed


@dataclass(frozen=True, slots=True)
class Point:
    """A place to go to: the state right after record `seq`. `text` are the words of the prompt that follows, or of
    the last one of a branch that was left; `at` is its time in unix ms. `forward` undoes a rewind."""

    seq: int
    text: str
    at: int
    forward: bool = False
    prompts: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """Work on the files: the trees before and after it; `end` is None while it lasts, or where it was cut."""

    start: str
    end: str | None


def points(records: Sequence[Record]) -> list[Point]:
    """The present prompts, the newest first, and behind them the branches that rewinds have left."""
    present, left = branch(records)
    back = [
        Point(record.seq - 1, typed(record.event), record.timestamp)
        for record in reversed(present)
        if isinstance(record.event, UserMessage)
    ]
    return back + [point for seq in left if (point := _forward(records, present, seq))]


def _forward(records: Sequence[Record], present: Sequence[Record], seq: int) -> Point | None:
    """The branch that ends at this record, if it holds a prompt that the present does not."""
    here = {record.seq for record in present}
    there = branch([record for record in records if record.seq <= seq])[0]
    said = [record for record in there if isinstance(record.event, UserMessage) and record.seq not in here]
    if not said or not isinstance(said[-1].event, UserMessage):
        return None
    return Point(seq, typed(said[-1].event), said[-1].timestamp, forward=True, prompts=len(said))


def saved_after(records: Sequence[Record], seq: int, root: str) -> FilesSaved | None:
    """The snapshot that holds the files as they were at this point; None where nothing was changed since."""
    return next(
        (
            record.event
            for record in records
            if record.seq > seq and isinstance(record.event, FilesSaved) and record.event.root == root
        ),
        None,
    )


def trees_after(records: Sequence[Record], seq: int, root: str) -> list[str]:
    """All snapshots behind this point, the oldest first."""
    return [
        record.event.tree
        for record in records
        if record.seq > seq and isinstance(record.event, FilesSaved) and record.event.root == root
    ]


def spans(records: Sequence[Record], seq: int, root: str) -> list[Span]:
    """The work on the files that began after this point, the oldest first."""
    saved = [
        record.event
        for record in records
        if record.seq > seq and isinstance(record.event, FilesSaved) and record.event.root == root
    ]
    found: list[Span] = []
    for index, one in enumerate(saved):
        if one.moment == "before":
            found.append(Span(one.tree, saved[index + 1].tree if index + 1 < len(saved) else None))
    return found


def is_open(records: Sequence[Record], root: str) -> bool:
    """Whether work on the files has begun and is not known to be over."""
    for record in reversed(records):
        if isinstance(record.event, FilesSaved) and record.event.root == root:
            return record.event.moment == "before"
    return False


def is_saved(records: Sequence[Record], root: str) -> bool:
    """Whether the files were saved since the newest user message: what is changed now belongs to that work."""
    for record in reversed(records):
        if isinstance(record.event, FilesSaved) and record.event.root == root:
            return record.event.moment == "before" and record.event.reason == "tools"
        if isinstance(record.event, UserMessage):
            return False
    return False
