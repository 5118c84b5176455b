"""A session: the only writer. `emit` writes a record, folds it, then tells the readers, in that order.

An event that a reader has seen is in the file. Nothing here is asynchronous: nothing can interrupt it half-way.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from prunecli.context import render
from prunecli.context.state import Context
from prunecli.errors import SessionTooNew
from prunecli.model.events import LOG_VERSION, Event, Record, SessionStarted, ToolResult
from prunecli.model.messages import Text
from prunecli.session.blobs import Blobs
from prunecli.session.clock import Clock, next_timestamp, system_clock
from prunecli.session.log import Loaded, LogWriter, quarantine, require_records, take_line
from prunecli.session.store import Store, new_id, random_bytes

Reader: TypeAlias = Callable[[Any], None]
"""Is told each Record when it is in the file, and each transient signal (a delta, a progress line)."""

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
        self.read_only = False
        self._started = started
        self._clock = clock
        self._open_log = open_log
        self._log: LogWriter | None = None
        self._blobs = Blobs(path.parent / "blobs") if path else None
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
        """Appends an event to the log, folds it and tells the readers.

        Raises StorageFailed, then nothing has changed; SessionTooNew for a session that may only be read.
        """
        if self.read_only:
            raise SessionTooNew(f"session {self.id} can only be read", "continue a copy with --fork")
        if not self.records:
            self._append(self._started)
        return self._append(event)

    def _append(self, event: Event, at: int | None = None) -> Record:
        last = self.records[-1] if self.records else None
        timestamp = next_timestamp(self._clock() if at is None else at, last.timestamp if last else 0)
        record = Record(last.seq + 1 if last else 0, timestamp, event)
        if self.path is not None and self._blobs is not None:
            if self._log is None:
                self._log = self._open_log(self.path)
            stored = self._blobs.stored(event)
            self._log.append(record if stored is event else Record(record.seq, timestamp, stored))
        self.records.append(record)
        self.context.apply(record)
        self.tell(record)
        return record

    def tell(self, signal: object) -> None:
        """Tells the readers something transient, which is not kept."""
        for reader in tuple(self._readers):
            reader(signal)

    def commit(self) -> None:
        """Makes everything emitted so far durable; may block on the disk. Raises StorageFailed."""
        if self._log is not None:
            self._log.commit()

    def close(self) -> None:
        """Closes the file and lets its lock go."""
        if self._log is not None:
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
        """The session of a file. Writable takes the lock and answers what a crash left open; else nothing is
        written. Raises SessionCorrupt, SessionLocked, OSError."""
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
            with path.open("rb") as file:
                while lines := file.readlines(STEP_BYTES):
                    known = len(loaded.records)
                    for line in lines:
                        take_line(loaded, line)
                    read += sum(map(len, lines))
                    yield Step(session._take(loaded.records[known:]), read)
                    del loaded.records[:-1]
            require_records(path, loaded)
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
        started = self._started
        self.notices[:0] = [f"line {bad.number}: {bad.why}" for bad in loaded.bad]
        unknown = [name for name in started.requires if name not in KNOWN_FEATURES]
        if unknown or started.version > LOG_VERSION:
            self.read_only = True
            self.notices.append(f"read-only: it needs {', '.join(unknown) or 'a newer version'}")
        if writable and self.path and not self.read_only:
            place = quarantine(self.path, loaded.bad)
            if place:
                self.notices.append(f"damaged lines were copied to {place.name}")
            self.answer_open_calls()

    def forked(self, context: Context, store: Store, cwd: Path) -> "Session":
        """A new session that begins with all that this one holds. The copy's file is made at once."""
        now = self._clock()
        last = self.records[-1].seq if self.records else -1
        started = SessionStarted(
            new_id(now, random_bytes()),
            str(cwd),
            self._started.model,
            parent={"id": self.id, "seq": last},
        )
        path = store.new_path(cwd, started.id)
        copy = Session(started, context, path=path, clock=self._clock, open_log=self._open_log)
        for record in self.records:
            first = isinstance(record.event, SessionStarted)
            copy._append(started if first else record.event, record.timestamp)
        copy.commit()
        copy.answer_open_calls()
        return copy

    def _take(self, records: list[Record]) -> list[Record]:
        """Folds records that were read; gives them with their blobs."""
        for at, record in enumerate(records):
            event, missing = self._blobs.resolved(record.event) if self._blobs else (record.event, [])
            if event is not record.event:
                self.notices += missing
                records[at] = Record(record.seq, record.timestamp, event)
            self.context.apply(records[at])
        self.records += records
        return records

    def answer_open_calls(self) -> None:
        """Answers every call that has no result as interrupted: it may have partly run and is never run again."""
        exchange = self.context.in_progress
        for call in exchange.unanswered if exchange else ():
            content = (Text(render.INTERRUPTED),)
            self.emit(ToolResult(call.id, call.name, content, is_error=True, details={"interrupted": True}))
