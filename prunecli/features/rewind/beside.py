"""What other sessions edited in the same directory while this one worked: a rewind of this one leaves it alone."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from prunecli.model.events import FilesSaved, Record, ToolStarted
from prunecli.session.digest import whole_record
from prunecli.session.lines import record_lines
from prunecli.session.session import Session
from prunecli.session.store import Listed, Store
from prunecli.util.errors import SnapshotFailed
from prunecli.util.regular import open_regular


def edited_beside(session: Session, store: Store, cwd: Path, root: Path) -> frozenset[str]:
    """Return the paths below `root` that calls of other sessions changed during this session's work, and none of its
    own calls or tasks' calls named. May block. Raises SnapshotFailed."""
    works = list(_works(session.records, str(root)))
    if not works:
        return frozenset()
    family, others = {session.id}, list[Listed]()
    for one in store.listed():
        if one.changed < works[0][0]:
            break
        others.append(one)
    for one in sorted(others, key=lambda other: other.started):
        if one.is_task and one.digest.parent in family:
            family.add(one.id)
    own = {path for _, path in _changes(session.records, cwd, root)}
    theirs = set[str]()
    for one in others:
        if one.id == session.id:
            continue
        changes = _changes(_started(one.path), Path(one.cwd), root)
        if one.id in family:
            own.update(path for _, path in changes)
        else:
            theirs.update(path for at, path in changes if any(start <= at <= end for start, end in works))
    return frozenset(theirs - own)


def _works(records: Iterable[Record], root: str) -> Iterator[tuple[int, float]]:
    """Yield the times between which this session worked on the files, oldest first."""
    start = 0
    for record in records:
        if isinstance(record.event, FilesSaved) and record.event.root == root:
            if record.event.moment == "before":
                start = start or record.timestamp
            elif start:
                yield start, record.timestamp
                start = 0
    if start:
        yield start, float("inf")


def _changes(records: Iterable[Record], cwd: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Yield the time and the path below `root` of each file that a call was to change."""
    for record in records:
        if isinstance(record.event, ToolStarted) and record.event.touches:
            for path in record.event.touches.changes:
                whole = os.path.realpath(cwd / path) if "\0" not in path else ""
                if whole.startswith(f"{root}{os.sep}"):
                    yield record.timestamp, whole[len(str(root)) + 1 :]


def _started(path: Path) -> Iterator[Record]:
    try:
        with open_regular(path) as file:
            lines = (line for line in record_lines(file) if b'"ToolStarted"' in line)
            yield from filter(None, map(whole_record, lines))
    except FileNotFoundError:
        return
    except OSError as error:
        raise SnapshotFailed(f"{path}: {error.strerror}") from error
