"""Rewind a session to an earlier point, or forward again: the conversation, the files, or both."""

import asyncio

from prunecli.errors import SnapshotFailed
from prunecli.model.events import Pinned, PrunApplied, PrunReverted, Rewound
from prunecli.model.signals import Notice
from prunecli.runtime.runtime import Runtime
from prunecli.session.restoring import Outlook, Restored, outlooks, restore
from prunecli.session.timeline import Point, points
from prunecli.tools.files.in_thread import in_thread
from prunecli.tools.tool import FilesSeen


def outlook_of(runtime: Runtime, seqs: list[int]) -> list[Outlook]:
    """The file changes that rewinding to each of these points would make. May block. Raises SnapshotFailed."""
    if runtime.files.off:
        return [Outlook() for _ in seqs]
    snapshots = runtime.files.snapshots
    return outlooks(snapshots, tuple(runtime.session.records), seqs, runtime.files.save())


def points_of(runtime: Runtime) -> list[Point]:
    """The points of the present session."""
    return points(tuple(runtime.session.records))


async def rewind(runtime: Runtime, seq: int, *, conversation: bool, files: bool) -> Restored:
    """Rewind to the state right after record `seq`. Files are saved first, so that this can be undone too.

    Raises SnapshotFailed, with the conversation as it was; StorageFailed.
    """
    restored = await _files(runtime, seq) if files else Restored((), ())
    if conversation:
        context = runtime.session.context
        before = context.unseen.dropped
        runtime.emit(Rewound(seq))
        if lost := [context.entries[one] for one in sorted(context.unseen.dropped - before)]:
            words = f"{context.unseen.sum(lost)} of this branch no longer fit and will be dropped"
            runtime.session.tell(Notice(words, "warning"))
        runtime.files_seen = FilesSeen()  # the model may have to read files again before editing them
        await asyncio.to_thread(runtime.session.commit)
    return restored


async def _files(runtime: Runtime, seq: int) -> Restored:
    if why := runtime.files.off:
        raise SnapshotFailed(f"cannot restore files: {why}")
    snapshots, session = runtime.files.snapshots, runtime.session
    records = tuple(session.records)
    now = await asyncio.to_thread(runtime.files.save)
    (outlook,) = await asyncio.to_thread(outlooks, snapshots, records, [seq], now)
    if not outlook.changes:
        return Restored((), ())
    runtime.files.record(now, "before", "rewind")
    await asyncio.to_thread(session.commit)
    try:
        return await in_thread(lambda stop: restore(snapshots, outlook.changes, stop))
    finally:
        runtime.files.record(await asyncio.to_thread(runtime.files.save), "after", "rewind")


def take_back_cut(runtime: Runtime) -> None:
    """Rewind past an answer that was interrupted mid-text, so that continuing asks for it again.

    It stays in the log. Does nothing if the user has pruned or restored since.
    """
    items = runtime.session.context.items
    last = items[-1] if items else None
    if last is None or getattr(last.event, "stop_reason", "") != "interrupted":
        return
    since = [record.event for record in runtime.session.records if record.seq > last.seq]
    if not any(isinstance(event, PrunApplied | PrunReverted | Pinned | Rewound) for event in since):
        runtime.emit(Rewound(last.seq - 1))
