"""A session, the only writer of its log. `emit` writes a record, then folds it, then calls the readers.

An event that a reader has seen is in the file. Nothing here is asynchronous, so no step can be interrupted halfway.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, TypedDict, Unpack

from prunecli.context import render
from prunecli.context.state import Context
from prunecli.model.codec import block_from_json, block_to_json, well_formed
from prunecli.model.events import (
    LOG_VERSION,
    SUMMARY_UNDO,
    Event,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    SessionStarted,
    SettingChanged,
)
from prunecli.model.messages import Blob, Json
from prunecli.model.signals import FileMoved, Notice, SessionEvent
from prunecli.plugins.features import available
from prunecli.session.blobs import Blobs
from prunecli.session.completing import Clock, completed, next_timestamp, system_clock
from prunecli.session.lines import all_lines, next_lines
from prunecli.session.log import Loaded, at_end, complaints, quarantine, take_line
from prunecli.session.running_call import RunningOutput, Shorten, whole
from prunecli.session.store import UNFINISHED, Store, free_path, is_id, new_id, random_bytes
from prunecli.session.writer import LogLost, LogWriter
from prunecli.util.errors import SessionNotFound, SessionReadOnly, SessionTooNew, StorageFailed
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular

Reader: TypeAlias = Callable[[SessionEvent], None]
"""A function that is called with each record once it is in the file, and with each transient signal."""

STEP_BYTES = 65_536
"""Bytes to read in one loading step, which takes two or three milliseconds."""


@frozen
class Step:
    """A loading step: the records it read, and the total bytes read so far."""

    records: list[Record]
    read: int = 0


Steps: TypeAlias = "Generator[Step, None, Session]"


class Opening(TypedDict, total=False):
    """Options for loading a session. `shorten` selects the output that is sent of a call that a crash interrupted."""

    clock: Clock
    open_log: Callable[[Path], LogWriter]
    shorten: Shorten


EDITS = PrunApplied, PrunReverted, Pinned, SettingChanged
"""What `edit_there` is asked for: nothing of it changes what was said."""

NO_LOCKS = "{} is on a file system without locks: open this session in one program only"

FEATURES = ("strip", "cut", SUMMARY_UNDO)
"""The names in `requires` that this version understands, and writes into new sessions, whose edits may need them."""


class Session:
    """One session. Its file is created with the first event, so an unused session leaves none."""

    def __init__(
        self,
        started: SessionStarted,
        context: Context,
        *,
        path: Path | None,
        clock: Clock = system_clock,
        open_log: Callable[[Path], LogWriter] = LogWriter,
    ) -> None:
        self.id = started.id
        self.path = path
        self.context = context
        self.records: list[Record] = []
        self.notices: list[str] = []
        self.read_only = ""
        """The reason why nothing can be added, or ""."""
        self.edit_there: Callable[[Event], Record] | None = None
        """For a session that another program writes: has it record an event. Raises PrunecliError."""
        self.read_to = 0  # bytes of whole lines
        self._too_new = False
        self._owed: list[tuple[int, Event]] = []
        self.started, self._clock, self._open_log = started, clock, open_log
        self._log: LogWriter | None = None
        self._blobs = Blobs(path.parent / "blobs") if path else None
        self.running = RunningOutput(path)
        self._readers: list[Reader] = []

    # Reading -------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name that the user gave the session, or ""."""
        return str(self.context.settings.get("session.name") or "")

    def subscribe(self, reader: Reader) -> Callable[[], None]:
        """Add a reader and return a function that removes it."""
        self._readers.append(reader)
        return lambda: self._readers.remove(reader) if reader in self._readers else None

    @property
    def next_seq(self) -> int:
        """The seq of the next record. Owed events take the next numbers."""
        return (self.records[-1].seq if self.records else 0) + 1 + len(self._owed)

    # Writing -------------------------------------------------------------------------------------------------

    def emit(self, event: Event, at: int | None = None) -> Record:
        """Append an event, of now or the time `at`, fold it and call the readers. Raises StorageFailed, after which
        nothing has changed, and SessionReadOnly."""
        if self.edit_there is not None and isinstance(event, EDITS):
            return self.edit_there(event)
        self.refuse_read_only()
        self._pay()
        if not self.records:
            self._append(self.started)
        return self._append(completed(event, self.context), at)

    def refuse_read_only(self, *, copied: bool = False) -> None:
        """Raise SessionTooNew if not even a copy could be continued, SessionReadOnly if only a copy could."""
        if self._too_new:
            raise SessionTooNew(f"{self.id} is {self.read_only}", "update prunecli to continue it")
        if self.read_only and not copied:
            raise SessionReadOnly(f"{self.id} is {self.read_only}", "use --fork to continue a copy")

    def keep(self, event: Event) -> None:
        """Like `emit`, for results that cannot be requested again: a response, or the output of a tool or command.

        If writing fails, the event is owed: it is written before anything else as soon as possible. Still raises
        StorageFailed, since nothing else may happen until then.
        """
        try:
            self.emit(self.running.shorten(event, self.next_seq, self.context))
        except StorageFailed:
            self._owed.append((self._clock(), event))
            raise

    def hold(self, key: str, text: str) -> None:
        """Save the output so far of a running call. `key` is the call's id or the typed command."""
        if not self.read_only:
            self.running.hold(key, text, self.records)

    def keep_bytes(self, data: bytes) -> Json:
        """Store bytes beside the log. Returns a blob block, or None for a session without a file. Raises
        StorageFailed."""
        return block_to_json(self._blobs.keep(data)) if self._blobs else None

    def kept_text(self, value: Json) -> str:
        """Return bytes that `keep_bytes` stored, as text; "" if there are none."""
        block = block_from_json(value) if isinstance(value, dict) else None
        return self._blobs.text_of(block) if self._blobs and isinstance(block, Blob) else ""

    @property
    def stuck(self) -> bool:
        """Whether the last write or sync failed, or an event is owed."""
        return bool(self._owed) or (self._log is not None and self._log.stuck)

    def mend(self) -> None:
        """After a failure, check whether the file can be written again. Does nothing if nothing failed.

        May block on the disk and may run in a thread. Raises StorageFailed.
        """
        if self._log is not None:
            with suppress(LogLost):  # the next write reports it and continues in a new file
                self._log.mend()

    def settle(self) -> None:
        """Prepare a run: write owed events, and answer calls that started and never ended. Raises StorageFailed."""
        self._pay()
        for result in self.running.interrupted_calls(self.context.in_progress):
            self.emit(self.running.shorten(result, self.next_seq, self.context))

    def _pay(self) -> None:
        while self._owed:
            at, event = self._owed[0]
            self._append(event, at)
            self._owed.pop(0)

    def _append(
        self,
        event: Event,
        at: int | None = None,
        extra: Mapping[str, Json] | None = None,
        seq: int | None = None,
    ) -> Record:
        last = self.records[-1] if self.records else None
        timestamp = next_timestamp(self._clock() if at is None else at, last.timestamp if last else 0)
        number = (last.seq + 1 if last else 0) if seq is None else seq
        record = Record(number, timestamp, self.context.counts.with_tokens(event), extra)
        if self.path is not None:
            if self._log is None:
                self._log = self._open_log(self.path)
                if not self._log.has_locks:
                    self.tell(Notice(NO_LOCKS.format(self.path.parent), "warning"))
            try:
                self._write(self._log, record)
            except LogLost as lost:
                self._move(lost)
                self._write(self._log, record)
        self.records.append(record)
        self.running.recorded(event)
        self.context.apply(record)
        self.tell(record)
        return record

    def _write(self, log: LogWriter, record: Record) -> None:
        stored = self._blobs.stored(record.event) if self._blobs else record.event
        log.append(record if stored is record.event else replace(record, event=stored))

    def _move(self, lost: LogLost) -> None:
        """Continue in a new file with all records, and leave the old path alone. Raises StorageFailed; the next write
        tries again."""
        if self.path is None:
            raise lost
        path = free_path(self.path)
        log = self._open_log(path)
        try:
            for record in self.records:
                self._write(log, record)
            log.commit()
        except StorageFailed:
            path.unlink(missing_ok=True)
            log.close()
            raise
        if self._log is not None:
            self._log.close()
        self._log, self.path, self.running.log = log, path, path
        self.tell(FileMoved(lost.why, path))

    def tell(self, event: SessionEvent) -> None:
        """Send a transient signal to the readers. It is not recorded."""
        for reader in tuple(self._readers):
            reader(event)

    def commit(self) -> None:
        """Make everything emitted so far durable. May block on the disk. Raises StorageFailed."""
        if self._log is not None:
            if self._blobs is not None:
                self._blobs.commit()
            self._log.commit()

    def close(self) -> None:
        """Commit what can be committed, close the file and release its lock."""
        if self._log is not None:
            with suppress(StorageFailed):  # reported when it happened
                self.mend()
                self._pay()
                self.commit()
            self._log.close()
            self._log = None

    # Resuming ------------------------------------------------------------------------------------------------

    @staticmethod
    def load(path: Path, context: Context, *, writable: bool, **how: Unpack[Opening]) -> "Session":
        """Load a session from its file. If `writable`, take the lock and answer calls that a crash left open;
        otherwise write nothing. Raises SessionCorrupt, SessionLocked and OSError."""
        return _last(Session.load_steps(path, context, writable=writable, **how))

    @staticmethod
    def load_steps(path: Path, context: Context, *, writable: bool, **how: Unpack[Opening]) -> Steps:
        """Load in steps of a few milliseconds; the first one only takes the lock. Closing it releases the lock."""
        clock, open_log = how.get("clock", system_clock), how.get("open_log", LogWriter)
        begun = SessionStarted(path.stem, "", "")
        session = Session(begun, context, path=path, clock=clock, open_log=open_log)
        session.running.shorten = how.get("shorten", whole)
        session._log = open_log(path) if writable else None
        try:
            yield Step([])
            loaded = Loaded()
            with open_regular(path) as file:
                rest = all_lines(file)
                while lines := next_lines(rest, STEP_BYTES):
                    known = len(loaded.records)
                    for line in lines:
                        take_line(loaded, line)
                    yield Step(session.take(loaded.records[known:]), file.tell())
                    del loaded.records[:-1]
                    session.read_to = file.tell() - (0 if loaded.complete else len(lines[-1]))
            session.take(at_end(path, loaded))
        except BaseException:
            session.close()
            raise
        session._complete(loaded, writable=writable)
        return session

    def _complete(self, loaded: Loaded, *, writable: bool) -> None:
        """Finish loading: set the session's identity, collect notices, and answer calls that a crash left open."""
        first = self.records[0].event
        if isinstance(first, SessionStarted):
            self.started = first
            if is_id(first.id):
                self.id = first.id
            else:
                self.notices.append("has an invalid id; the file's name is used instead")
        self.notices = complaints(self.path or Path(self.id), loaded.bad, self.notices)
        if self._log is not None and not self._log.has_locks and self.path:
            self.notices.append(NO_LOCKS.format(self.path.parent))
        self.running.read()
        unknown = [name for name in self.started.requires if name not in FEATURES]
        if unknown or self.started.version > LOG_VERSION:
            self._too_new = True
            self.read_only = f"read-only: it needs {', '.join(unknown) or 'a newer version'}"
            self.notices.append(self.read_only)
        elif not writable:
            self.read_only = "read-only: opened to view"
        if self.read_only:
            self.close()
        elif self.path:
            if place := quarantine(self.path, loaded.bad):
                self.notices.append(f"copied damaged lines to {place.name}")
            self.answer_open_calls(continuing=True)

    def forked(
        self, context: Context, store: Store, cwd: Path, *, at: int | None = None, session_id: str = ""
    ) -> "Session":
        """Create a copy with all records, or those up to record `at`, with this id if given. The seqs stay the same,
        so `verify` can check its requests. The file is created completely or not at all. The copy of a named session
        gets its own name. Raises SessionNotFound, SessionTooNew and StorageFailed."""
        self.refuse_read_only(copied=True)
        records = [record for record in self.records if at is None or record.seq <= at]
        if at is not None and (not records or records[-1].seq != at):
            raise SessionNotFound(
                f"session {self.id} has no record {at}", available("/context lists entry numbers")
            )
        new = session_id or new_id(self._clock(), random_bytes())
        parent = {"id": self.id, "seq": records[-1].seq if records else -1}
        started = SessionStarted(
            new, well_formed(str(cwd)), self.started.model, parent=parent, requires=FEATURES
        )
        begun = (path := store.new_path(cwd, new)).with_suffix(UNFINISHED)
        copy = Session(started, context, path=begun, clock=self._clock, open_log=self._open_log)
        try:
            if records:
                copy._append(started, records[0].timestamp, records[0].extra, 0)
            for record in records:
                if not isinstance(record.event, SessionStarted):
                    copy._append(record.event, record.timestamp, record.extra, record.seq)
            copy.running.take_over(self.running, at)
            if copy.name:
                copy._append(SettingChanged("session.name", store.free_name(copy.name)))
            copy.answer_open_calls()
            copy.commit()
            copy._move_to(path)
        except StorageFailed:
            copy._discard()
            raise
        return copy

    def _move_to(self, path: Path) -> None:
        if self._log is not None:
            self._log.move_to(path)
        self.path = self.running.log = path

    def _discard(self) -> None:
        if self._log is not None:
            self._log.path.unlink(missing_ok=True)
            self._log.close()

    def take(self, records: list[Record]) -> list[Record]:
        """Fold records that were read; return them with their blobs."""
        for at, record in enumerate(records):
            event, missing = self._blobs.resolved(record.event) if self._blobs else (record.event, [])
            if event is not record.event:
                self.notices += missing
                records[at] = replace(record, event=event)
            self.context.apply(records[at])
            self.notices += render.out_of_place(record.seq, event)
        self.records += records
        return records

    def answer_open_calls(self, *, continuing: bool = False) -> None:
        """Record every open call, and an unfinished command of the user, as interrupted. A call may have partly run,
        is never run again, and keeps its output so far. `continuing` leaves started tasks open, since they can go
        on."""
        for event in self.running.interrupted(self.context.in_progress, self.records, continuing=continuing):
            self.emit(self.running.shorten(event, self.next_seq, self.context))


def _last(steps: Steps) -> Session:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            session: Session = end.value
            return session
