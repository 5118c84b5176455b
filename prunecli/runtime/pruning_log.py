"""The pruning log: a JSON line for each prune and undo, and the ledger at the end of each run that has prunes.

It is the file `$PRUNECLI_HOME/logs/prunecli.log` with mode 0600, and it never contains text of the conversation. At
`MOST_BYTES` it is renamed to `prunecli.log.1`. A line that cannot be written is lost.
"""

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from prunecli.model.events import PrunApplied, PrunReverted, Record, RunEnded
from prunecli.model.messages import Json
from prunecli.model.signals import SessionEvent
from prunecli.runtime.runtime import Runtime
from prunecli.session.session import Session
from prunecli.util.private_file import make_private

MOST_BYTES = 1_000_000


def log_prunes(path: Path, runtime: Runtime) -> None:
    """Log the prunes of the runtime's current session and of each later one."""

    def watch(session: Session) -> None:
        session.subscribe(partial(_take, path, runtime, session))

    watch(runtime.session)
    runtime.on_session.append(watch)


def _take(path: Path, runtime: Runtime, session: Session, event: SessionEvent) -> None:
    rows = session.context.prune_history.rows
    match event:
        case Record(seq, _, PrunApplied() | PrunReverted(requires=())):
            row = rows[seq]
            line: dict[str, Json] = {
                "event": "undo" if row.undone else "prune",
                "seq": seq,
                "source": row.source,
                "strategy": row.strategy,
                "tokens_before": row.tokens_before,
                "tokens_after": row.tokens_after,
                "tokens_removed": row.removed,
                "percent": round(100 * row.share, 1),
                "reason": row.reason,
            }
        case Record(_, _, RunEnded()) if rows:
            ledger = runtime.balance.beside(runtime.policy.ledger(session.context))
            line = {"event": "run_end", **ledger.to_json()}
        case _:
            return
    time = datetime.fromtimestamp(event.timestamp / 1000, UTC).isoformat()
    with suppress(OSError):
        _write(path, {"time": time, "session": session.id, **line})


def _write(path: Path, line: dict[str, Json]) -> None:
    make_private(path.parent)
    with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab", buffering=0) as file:
        file.write(json.dumps(line).encode() + b"\n")
        full = file.tell() >= MOST_BYTES
    if full:
        path.replace(path.with_name(f"{path.name}.1"))
