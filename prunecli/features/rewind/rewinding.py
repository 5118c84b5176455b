"""Rewinds a session to an earlier point, or forward again: the conversation, the files, or both."""

import asyncio

from prunecli.commands.command import Effect, FillPrompt, Say
from prunecli.context.impact import Impact
from prunecli.context.whole_acts import between
from prunecli.features.rewind.beside import edited_beside
from prunecli.features.rewind.file_snapshots import FileSaver
from prunecli.features.rewind.part import saver_of
from prunecli.features.rewind.restoring import Outlook, Restored, joined, outlooks, restore
from prunecli.features.rewind.snapshots import Saved
from prunecli.model.events import Record, Rewound
from prunecli.runtime.runtime import Runtime
from prunecli.session.timeline import Point, points
from prunecli.tools.files.in_thread import in_thread
from prunecli.tools.tool import FilesSeen
from prunecli.util.errors import SnapshotFailed
from prunecli.util.frozen import frozen


def outlook_of(runtime: Runtime, seqs: list[int]) -> list[Outlook]:
    """Return the file changes that rewinding to each of these points would make. May block. Raises SnapshotFailed."""
    records = tuple(runtime.session.records)
    found = [
        [_named(files, outlook) for outlook in _outlooks(runtime, files, records, seqs, files.save())]
        for files in saver_of(runtime).all
        if not files.off
    ]
    return [joined(parts, runtime.setup.cwd) for parts in zip(*found, strict=True)] or [
        Outlook() for _ in seqs
    ]


def _outlooks(
    runtime: Runtime, files: FileSaver, records: tuple[Record, ...], seqs: list[int], now: Saved
) -> list[Outlook]:
    root = files.snapshots.workspace
    beside = edited_beside(runtime.session, runtime.store, runtime.setup.cwd, root)
    return outlooks(files.snapshots, records, seqs, now, beside)


def _named(files: FileSaver, outlook: Outlook) -> Outlook:
    """Return the outlook with file names as the user sees them: absolute paths in an added folder."""
    root = files.snapshots.workspace
    return outlook if root == files.cwd else outlook.below(root)


def points_of(runtime: Runtime) -> list[Point]:
    return points(tuple(runtime.session.records))


def effect_of(runtime: Runtime, seq: int) -> Impact:
    """Return the effect of a rewind to record `seq`. It costs the thinking that the model sees now, or saw then, and
    would not see afterwards.

    The log is folded again, so this may take as long as a resume.
    """
    session = runtime.session
    present = session.context
    records, later = tuple(session.records), runtime.new_context()
    there: frozenset[int] = frozenset()
    for record in (*records, Record(records[-1].seq + 1, records[-1].timestamp, Rewound(seq))):
        there = there if record.seq > seq else later.unseen.dropped
        later.apply(record)
    lost = [
        one
        for one in sorted(later.unseen.dropped)
        if one not in (present.unseen.dropped if present.is_shown(one) else there)
    ]
    lost_sum = later.unseen.sum([later.entries[one] for one in lost])
    return between(present, later, runtime.policy.market, lost_sum)


@frozen
class Rewind:
    """The work of /rewind: rewinds to the state after record `seq`, and proposes `text` as the next prompt."""

    runtime: Runtime
    seq: int
    conversation: bool
    files: bool
    text: str = ""

    async def __call__(self) -> list[Effect]:
        done = await rewind(self.runtime, self.seq, conversation=self.conversation, files=self.files)
        return [
            *([Say(done.words)] if self.files else ()),
            *(Say(f"{path} was not restored: {why}", "warning") for path, why in done.left),
            *([FillPrompt(self.text)] if self.text else ()),
        ]


async def rewind(runtime: Runtime, seq: int, *, conversation: bool, files: bool) -> Restored:
    """Rewind to the state right after record `seq`. Files are saved first, so that the rewind can be undone.

    Raises SnapshotFailed, with the conversation unchanged, and StorageFailed.
    """
    restored = Restored()
    for one in saver_of(runtime).all if files else ():
        if one is saver_of(runtime) or not one.off:
            restored = restored.joined(await _files(runtime, one, seq))
    if conversation:
        runtime.emit(Rewound(seq))
        runtime.files_seen = FilesSeen()  # the model may have to read files again before editing them
        await asyncio.to_thread(runtime.session.commit)
    return restored


async def _files(runtime: Runtime, files: FileSaver, seq: int) -> Restored:
    if why := files.off:
        raise SnapshotFailed(f"cannot restore files: {why}")
    snapshots, session = files.snapshots, runtime.session
    records = tuple(session.records)
    now = await asyncio.to_thread(files.save)
    (outlook,) = await asyncio.to_thread(_outlooks, runtime, files, records, [seq], now)
    if not outlook.changes:
        return Restored()
    files.record(now, "before", "rewind")
    await asyncio.to_thread(session.commit)
    try:
        return await in_thread(lambda stop: restore(snapshots, outlook.changes, stop))
    finally:
        files.record(await asyncio.to_thread(files.save), "after", "rewind")
