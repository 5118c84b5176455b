"""Derives the points to which a session can return, and the agent's file changes, from the records alone.

The files at a point of the log are those of the first snapshot after it, since nothing changed in between. The
agent's changes are the differences between a snapshot `before` and its `after`; hand edits lie outside these spans.
"""

from collections.abc import Iterator, Sequence

from prunecli.context.lineage import branch
from prunecli.model.events import FilesSaved, Record, UserMessage
from prunecli.model.notes import opens_turn, typed
from prunecli.util.frozen import frozen


@frozen
class Point:
    """A point to return to: the state right after record `seq`.

    `text` is the prompt that follows, or the last prompt of an abandoned branch; `at` is its time in unix ms.
    `forward` undoes a rewind.
    """

    seq: int
    text: str
    at: int
    forward: bool = False
    prompts: int = 0


@frozen
class Span:
    """Work on the files: the trees before and after it. `end` is None while it runs or if it was interrupted."""

    start: str
    end: str | None


def points(records: Sequence[Record]) -> list[Point]:
    """Return the current prompts and the branches that rewinds left, newest first."""
    present, left = branch(records)
    back = [
        Point(record.seq - 1, typed(record.event), record.timestamp)
        for record in reversed(present)
        if isinstance(record.event, UserMessage) and opens_turn(record.event)
    ]
    forward = [point for seq in left if (point := _forward(records, present, seq))]
    return sorted([*back, *forward], key=lambda point: point.seq, reverse=True)


def _forward(records: Sequence[Record], present: Sequence[Record], seq: int) -> Point | None:
    """Return the branch that ends at this record, if it has a prompt that the current branch lacks."""
    here = {record.seq for record in present}
    there = branch([record for record in records if record.seq <= seq])[0]
    said = [
        record
        for record in there
        if isinstance(record.event, UserMessage) and opens_turn(record.event) and record.seq not in here
    ]
    if not said or not isinstance(said[-1].event, UserMessage):
        return None
    return Point(seq, typed(said[-1].event), said[-1].timestamp, forward=True, prompts=len(said))


def _saves(records: Sequence[Record], seq: int, root: str) -> Iterator[FilesSaved]:
    """Yield the snapshots of a root after this point, oldest first."""
    for record in records:
        if record.seq > seq and isinstance(record.event, FilesSaved) and record.event.root == root:
            yield record.event


def saved_after(records: Sequence[Record], seq: int, root: str) -> FilesSaved | None:
    """Return the snapshot with the files as they were at this point; None if nothing has changed since."""
    return next(_saves(records, seq, root), None)


def trees_after(records: Sequence[Record], seq: int, root: str) -> list[str]:
    return [saved.tree for saved in _saves(records, seq, root)]


def spans(records: Sequence[Record], seq: int, root: str) -> list[Span]:
    """Return the spans of work that began after this point, oldest first."""
    saved = list(_saves(records, seq, root))
    found: list[Span] = []
    for index, one in enumerate(saved):
        if one.moment == "before":
            found.append(Span(one.tree, saved[index + 1].tree if index + 1 < len(saved) else None))
    return found


def is_open(records: Sequence[Record], root: str) -> bool:
    """Return whether work on the files has begun and not ended."""
    for record in reversed(records):
        if isinstance(record.event, FilesSaved) and record.event.root == root:
            return record.event.moment == "before"
    return False


def is_saved(records: Sequence[Record], root: str) -> bool:
    """Return whether the files were saved since the last user message, so later changes belong to that work."""
    for record in reversed(records):
        if isinstance(record.event, FilesSaved) and record.event.root == root:
            return record.event.moment == "before" and record.event.reason == "tools"
        if isinstance(record.event, UserMessage):
            return False
    return False
