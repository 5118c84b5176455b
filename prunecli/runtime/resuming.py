"""Begins a session, or loads a long one: its end at once, the rest in steps of a few milliseconds.

The runtime keeps its current session until everything is read, so no code ever sees half a session.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.context.bill import Bill
from prunecli.context.state import Context
from prunecli.model.codec import well_formed
from prunecli.model.events import (
    AssistantMessage,
    Pinned,
    PrunApplied,
    PrunReverted,
    Record,
    Rewound,
    SessionStarted,
    ToolResult,
    ToolStarted,
)
from prunecli.model.messages import Json
from prunecli.model.touches import named
from prunecli.runtime.added_folders import recorded
from prunecli.runtime.setup import Setup
from prunecli.session.loading import tail
from prunecli.session.session import FEATURES, Session, Step, Steps
from prunecli.session.store import Store, new_id, random_bytes
from prunecli.tools.files.atomic_write import clear_leftovers
from prunecli.util.errors import ToolError

if TYPE_CHECKING:
    from prunecli.runtime.runtime import Runtime


class Resuming:
    """The loading of one session file. Takes the lock at once, except for a copy (`fork`).

    Raises SessionLocked, StorageFailed, OSError.
    """

    def __init__(
        self, path: Path, context: Context, runtime: "Runtime", *, writable: bool = True, fork: bool = False
    ) -> None:
        self.path = path
        self.context = context
        self.size = path.stat().st_size
        self._runtime = runtime
        self._fork = fork
        self._bill = Bill()
        self._session: Session | None = None
        self._read = 0
        clock, shorten = runtime.setup.clock, runtime.shorten
        self._steps: Steps = Session.load_steps(
            path, context, writable=writable and not fork, clock=clock, shorten=shorten
        )
        next(self._steps)

    def tail(self) -> list[Record]:
        """Return the last records, read from the end of the file. Raises OSError."""
        return tail(self.path)

    def steps(self) -> Iterator[Step]:
        """Read and fold; each step reports its records. Raises SessionCorrupt, StorageFailed, OSError."""
        while True:
            try:
                step = next(self._steps)
            except StopIteration as end:
                self._session = end.value
                return
            self._bill = self._runtime.billed(self._bill, step.records, self.context)
            self._read += len(step.records)
            yield step

    @property
    def records(self) -> list[Record]:
        """All records, once all steps are done."""
        return self._session.records if self._session else []

    def answered(self) -> list[Record]:
        """Return the records that answer calls left open by a crash, once all steps are done."""
        return self.records[self._read :]

    def make_ready(self) -> None:
        """Make the copy (with `fork`) and compute the first figures. Call it in a thread once all steps are done.

        Without compactions, the figures are sums over the whole session. Raises StorageFailed.
        """
        if self._session is None:
            return
        runtime = self._runtime
        if self._fork:
            self._session = self._session.forked(runtime.new_context(), runtime.store, runtime.setup.cwd)
        runtime.policy.ledger(self._session.context)

    def finish(self) -> Session:
        """Switch the runtime to the session. Call it when all steps are done."""
        if self._session is None:
            raise RuntimeError("the session is not fully read yet")
        if not self._fork:
            clear_half_done(self._session, self._runtime.setup)
        self._runtime.switch(self._session, self._bill)
        return self._session

    def close(self) -> None:
        self._steps.close()
        if self._session is not None:
            self._session.close()


def fresh(
    setup: Setup,
    model: str,
    store: Store,
    context: Context,
    session_id: str = "",
    parent: Mapping[str, Json] | None = None,
) -> Session:
    """Return a new session, with this id if given. The file is created with the first record.

    `parent` names the session that this one goes on from, as `SessionStarted.parent`.
    """
    id_ = session_id or new_id(setup.clock(), random_bytes())
    started = SessionStarted(id_, well_formed(str(setup.cwd)), model, parent=parent, requires=FEATURES)
    path = store.new_path(setup.cwd, started.id) if setup.keep_log else None
    return Session(started, context, path=path, clock=setup.clock)


def clear_half_done(session: Session, setup: Setup) -> None:
    """Remove temporary and half-written files left by calls without a result. Failures become notices of the session.
    Does nothing for a read-only session."""
    for given in () if session.read_only else _half_done(session):
        try:
            clear_leftovers(given, setup.cwd, setup.cwd, recorded(session, setup)[0])
        except ToolError as error:
            session.notices.append(str(error))


def _half_done(session: Session) -> list[str]:
    """Return the paths of edits and writes in the last turn that have no result."""
    cut: set[str] = set()
    found: list[str] = []
    for record in reversed(session.records):
        match record.event:
            case ToolResult(tool_use_id, details={"interrupted": True}):
                cut.add(tool_use_id)
            case ToolStarted(tool_use_id, name, given, touches) if tool_use_id in cut:
                touches = touches or named(name, given)
                found += touches.changes if touches else ()
            case AssistantMessage():
                break
            case _:
                pass
    return found


def take_back_cut(runtime: "Runtime") -> None:
    """Rewind past an answer that was interrupted mid-text, so that continuing requests it again.

    The answer stays in the log. Does nothing if the user has pruned or restored since.
    """
    items = runtime.session.context.items
    last = items[-1] if items else None
    if last is None or getattr(last.event, "stop_reason", "") != "interrupted":
        return
    since = [record.event for record in runtime.session.records if record.seq > last.seq]
    if not any(isinstance(event, PrunApplied | PrunReverted | Pinned | Rewound) for event in since):
        runtime.emit(Rewound(last.seq - 1))
