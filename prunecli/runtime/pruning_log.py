"""The pruning log: the data of `/prune-stats` as JSON lines, for later analysis.

It is the file `$PRUNECLI_HOME/logs/prunecli.log` with mode 0600, and it never contains text of the conversation. At
`MOST_BYTES` it is renamed to `prunecli.log.1` and a new file starts. If the disk cannot be written, only log lines
are lost.
"""

import json
import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from prunecli.context.prune_history import PruneStats
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    RunEnded,
)
from prunecli.model.messages import Json
from prunecli.model.signals import SessionEvent
from prunecli.private_file import make_private
from prunecli.runtime.balance import costs_of
from prunecli.runtime.runtime import Runtime
from prunecli.session.session import Session

MOST_BYTES = 1_000_000


class PruningLog:
    """The pruning log of a runtime. It gets a line for each prune and undo, and another one when the cache cost is
    measured or pruned content is read again. At the end of each run of a session with prunes, it gets the ledger."""

    def __init__(self, path: Path, runtime: Runtime) -> None:
        self._path: Path | None = path
        self._runtime = runtime

    def follow(self) -> None:
        """Follow the runtime's current session and each later one."""
        self._watch(self._runtime.session)
        self._runtime.on_session.append(self._watch)

    def _watch(self, session: Session) -> None:
        session.subscribe(partial(self._take, session))

    def _take(self, session: Session, event: SessionEvent) -> None:
        if not isinstance(event, Record):
            return
        history = session.context.prune_history
        if history.news:
            costs = costs_of(session, self._runtime.choices, history.news)
            for seq in history.news:
                self._write(_line(event, session.id, history.rows[seq], costs[seq]))
        if isinstance(event.event, RunEnded) and history.rows:
            runtime = self._runtime
            ledger = runtime.balance.beside(runtime.policy.ledger(session.context))
            self._write(_head(event, "run_end", session.id) | ledger.to_json())

    def _write(self, line: dict[str, Json]) -> None:
        if self._path is None:
            return
        try:
            make_private(self._path.parent)
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, json.dumps(line).encode() + b"\n")
                full = os.fstat(file).st_size >= MOST_BYTES
            finally:
                os.close(file)
            if full:
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        except OSError:
            self._path = None


def _line(record: Record, session: str, row: PruneStats, cost: tuple[int, float]) -> dict[str, Json]:
    tokens, usd = cost
    match record.event:
        case PrunApplied() if row.seq == record.seq:
            event = "prune"
        case PrunReverted() if row.seq == record.seq:
            event = "undo"
        case AssistantMessage() | CompactionApplied() | PrunApplied() | PrunReverted():
            event = "cache_cost"
        case _:
            event = "reread"
    return _head(record, event, session) | {
        "seq": row.seq,
        "source": row.source,
        "strategy": row.strategy,
        "tokens_before": row.tokens_before,
        "tokens_after": row.tokens_after,
        "tokens_removed": row.removed,
        "percent": round(100 * row.share, 1),
        "reason": row.reason,
        "rewritten_tokens": tokens,
        "cache_cost_usd": round(usd, 6),
        "measured": row.measured,
        "rereads": len(row.rereads),
        "reread_tokens": row.reread_tokens,
    }


def _head(record: Record, event: str, session: str) -> dict[str, Json]:
    time = datetime.fromtimestamp(record.timestamp / 1000, UTC).isoformat()
    return {"time": time, "event": event, "session": session}
