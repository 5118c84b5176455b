"""A session: the only writer. `emit` writes a record, folds it, then tells the readers, in that order.

An event that a reader has seen is in the file. Nothing here is asynchronous: nothing can interrupt it half-way.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from prunecli.context import render
from prunecli.context.state import Context
from prunecli.errors import SessionNotFound, SessionReadOnly, SessionTooNew, StorageFailed
from prunecli.model.codec import block_to_json
from prunecli.model.events import (
    LOG_VERSION,
    Event,
    Record,
    SessionStarted,
    SettingChanged,
)
from prunecli.model.messages import Json
from prunecli.model.signals import FileMoved, SessionEvent
from prunecli.regular import open_regular
from prunecli.session.blobs import Blobs
from prunecli.session.clock import Clock, next_timestamp, system_clock
from prunecli.session.completing import completed
from prunecli.session.log import Loaded, at_end, complaints, quarantine, take_line
from prunecli.session.running import RunningOutput
from prunecli.session.store import UNFINISHED, Store, free_path, new_id, random_bytes
from prunecli.session.writer import LogLost, LogWriter

Reader: TypeAlias = Callable[[SessionEvent], None]
"""Is told each record when it is in the file, and each signal."""

STEP_BYTES = 65_536
"""A step of loading reads about so many bytes: two or three milliseconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of loading: the records it read, and how many bytes of the file were read so far."""

    records: list[Record]
    read: int = 0


Steps: TypeAlias = "Generator[Step, None, Session]"

KNOWN_FEATURES: frozenset[str] = frozenset()
"""Names in `requires` that this version understands."""


class Session:
    """One session. Its file is made with the first event, so that a session nobody used leaves none."""

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
        """Why nothing can be added to it, or ""."""
        self._too_new = False
        self._owed: list[tuple[int, Event]] = []
        self._started = started
        self._clock = clock
        self._open_log = open_log
        self._log: LogWriter | None = None
        self._blobs = Blobs(path.parent / "blobs") if path else None
        self.running = RunningOutput(path)
        self._readers: list[Reader] = []

    # Reading -------------------------------------------------------------------------------------------------

    @property
    def started(self) -> SessionStarted:
        """Its first event."""
        return self._started

    @property
    def name(self) -> str:
        """The name that the user gave it, or ""."""
        return str(self.context.settings.get("session.name") or "")

    def subscribe(self, reader: Reader) -> Callable[[], None]:
        """Adds a reader; the value returned removes it."""
        self._readers.append(reader)
        return lambda: self._readers.remove(reader) if reader in self._readers else None

    # Writing -------------------------------------------------------------------------------------------------

    def emit(self, event: Event) -> Record:
        """Appends an event to the log, folds it and tells the readers. Raises StorageFailed, then nothing has
        changed; SessionReadOnly for a session that may only be read."""
        self._refuse_too_new()
        if self.read_only:
            raise SessionReadOnly(f"{self.id} is {self.read_only}", "continue a copy of it: --fork")
        self._pay()
        if not self.records:
            self._append(self._started)
        return self._append(completed(event, self.context))

    def _refuse_too_new(self) -> None:
        """What this version does not understand it would go on with wrongly, in a copy too (LOG-23)."""
        if self._too_new:
            raise SessionTooNew(f"{self.id} is {self.read_only}", "a newer prunecli can continue it")

    def keep(self, event: Event) -> None:
        """As `emit`, for what has happened and can't be asked for again, an answer or a tool's result.

        Where it can't be written now it is owed: written before anything else as soon as that is possible.
        Raises StorageFailed all the same, for nothing else may happen until then.
        """
        try:
            self.emit(event)
        except StorageFailed:
            self._owed.append((self._clock(), event))
            raise

    def hold(self, key: str, text: str) -> None:
        """Keeps the output so far of a running call, by its id or as the user typed it, in case it is cut."""
        if not self.read_only:
            self.running.hold(key, text, self.records)

    def keep_bytes(self, data: bytes) -> Json:
        """Stores bytes beside the log and gives the blob block that names them; None for a session without a
        file. Raises StorageFailed."""
        return block_to_json(self._blobs.keep(data)) if self._blobs else None

    @property
    def stuck(self) -> bool:
        """Whether the last write or sync failed, or something is owed."""
        return bool(self._owed) or (self._log is not None and self._log.stuck)

    def mend(self) -> None:
        """After a failure: finds out whether the file can be written again. Does nothing where nothing is wrong.

        May block on the disk and may be called from a thread. Raises StorageFailed.
        """
        if self._log is not None:
            with suppress(LogLost):  # the next write finds that out, and goes on in a new file
                self._log.mend()

    def settle(self) -> None:
        """Before a run: writes what is owed and answers calls that started and never ended. Raises StorageFailed."""
        self._pay()
        for result in self.running.interrupted_calls(self.context.in_progress):
            self.emit(result)

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
        """The file is gone or not ours any more: goes on in a new one that holds everything. What is at the old
        place is left as it is. Raises StorageFailed, then the next write tries again."""
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
        """Tells the readers; a signal is not kept."""
        for reader in tuple(self._readers):
            reader(event)

    def commit(self) -> None:
        """Makes everything emitted so far durable; may block on the disk. Raises StorageFailed."""
        if self._log is not None:
            if self._blobs is not None:
                self._blobs.commit()
            self._log.commit()

    def close(self) -> None:
        """Makes what can be made durable so, closes the file and lets its lock go."""
        if self._log is not None:
            with suppress(StorageFailed):  # whoever closes was told when it happened
                self.mend()
                self._pay()
                self.commit()
            self._log.close()
            self._log = None

    # Resuming ------------------------------------------------------------------------------------------------

    @staticmethod
    def load(
        path: Path,
        context: Context,
        *,
        writable: bool,
        clock: Clock = system_clock,
        open_log: Callable[[Path], LogWriter] = LogWriter,
    ) -> "Session":
        """The session of a file. Writable takes the lock and answers what a crash left open; else it can only be
        read and nothing is written. Raises SessionCorrupt, SessionLocked, OSError."""
        steps = Session.load_steps(path, context, writable=writable, clock=clock, open_log=open_log)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                session: Session = end.value
                return session

    @staticmethod
    def load_steps(
        path: Path,
        context: Context,
        *,
        writable: bool,
        clock: Clock = system_clock,
        open_log: Callable[[Path], LogWriter] = LogWriter,
    ) -> Steps:
        """`load` in steps of a few milliseconds; the first one only takes the lock. A generator that is closed
        before its end lets the lock go."""
        session = Session(
            SessionStarted(path.stem, "", ""), context, path=path, clock=clock, open_log=open_log
        )
        session._log = open_log(path) if writable else None
        try:
            yield Step([])
            loaded, read = Loaded(), 0
            with open_regular(path) as file:
                while lines := file.readlines(STEP_BYTES):
                    known = len(loaded.records)
                    for line in lines:
                        take_line(loaded, line)
                    read += sum(map(len, lines))
                    yield Step(session._take(loaded.records[known:]), read)
                    del loaded.records[:-1]
            session._take(at_end(path, loaded))
        except BaseException:
            session.close()
            raise
        session._complete(loaded, writable=writable)
        return session

    def _complete(self, loaded: Loaded, *, writable: bool) -> None:
        """Everything is read: what that says of the session, and what a crash left open."""
        first = self.records[0].event
        if isinstance(first, SessionStarted):
            self._started, self.id = first, first.id
        self.notices = complaints(self.path or Path(self.id), loaded.bad, self.notices)
        self.running.read()
        unknown = [name for name in self._started.requires if name not in KNOWN_FEATURES]
        if unknown or self._started.version > LOG_VERSION:
            self._too_new = True
            self.read_only = f"read-only: it needs {', '.join(unknown) or 'a newer version'}"
            self.notices.append(self.read_only)
        elif not writable:
            self.read_only = "read-only: opened to view"
        if self.read_only:
            self.close()
        elif self.path and self._blobs:
            self._blobs.clear_leftovers()
            place = quarantine(self.path, loaded.bad)
            if place:
                self.notices.append(f"damaged lines were copied to {place.name}")
            self.answer_open_calls()

    def forked(self, context: Context, store: Store, cwd: Path, *, at: int | None = None) -> "Session":
        """A new session that begins with what this one holds, or held right after record `at`, with the same numbers,
        so that every request in it can be proved. Its file is made at once, whole or not at all; it gets a name of
        its own where this one has one. Raises SessionNotFound, SessionTooNew, StorageFailed."""
        self._refuse_too_new()
        records = [record for record in self.records if at is None or record.seq <= at]
        if at is not None and (not records or records[-1].seq != at):
            raise SessionNotFound(f"session {self.id} has no record {at}", "/tree shows what it holds")
        now = self._clock()
        parent = {"id": self.id, "seq": records[-1].seq if records else -1}
        started = SessionStarted(new_id(now, random_bytes()), str(cwd), self._started.model, parent=parent)
        path = store.new_path(cwd, started.id)
        begun = path.with_suffix(UNFINISHED)
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
        """Takes back the file of a session that could not be written whole."""
        if self._log is not None:
            self._log.path.unlink(missing_ok=True)
            self._log.close()

    def _take(self, records: list[Record]) -> list[Record]:
        """Folds records that were read; gives them with their blobs."""
        for at, record in enumerate(records):
            event, missing = self._blobs.resolved(record.event) if self._blobs else (record.event, [])
            if event is not record.event:
                self.notices += missing
                records[at] = replace(record, event=event)
            self.context.apply(records[at])
            self.notices += render.out_of_place(record.seq, event)
        self.records += records
        return records

    def answer_open_calls(self) -> None:
        """Answers every call that has no result as interrupted, and records a command of the user's that did not
        finish: each may have partly run, is never run again, and keeps what it had printed."""
        for event in self.running.interrupted(self.context.in_progress, self.records):
            self.emit(event)
