"""Verifies a session: checks every line's crc and recomputes the hash of every request from the log alone."""

from dataclasses import dataclass
from pathlib import Path

from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import Record, RequestSent
from prunecli.session.blobs import Blobs
from prunecli.session.log import Loaded


@dataclass(frozen=True, slots=True)
class Report:
    """The result as lines for people; `clean` if there was no problem."""

    lines: tuple[str, ...]
    clean: bool


def verify_session(path: Path, loaded: Loaded) -> Report:
    """Fold the log again and compare every RequestSent. Names the first one that differs."""
    lines = list(map(str, loaded.bad))
    context = Context(Chars4())
    blobs = Blobs(path.parent / "blobs")
    requests = 0
    wrong: str | None = None
    for record in loaded.records:
        event, missing = blobs.resolved(record.event)
        lines += missing
        if isinstance(event, RequestSent):
            requests += 1
            if wrong is None and context.sha256() != event.sha256:
                wrong = f"record {record.seq}: request {requests} does not match the log"
        context.apply(record if event is record.event else Record(record.seq, record.timestamp, event))
    if wrong:
        lines.append(wrong)
    clean = not lines
    total = f"{len(loaded.records)} records, {requests} requests"
    return Report((*lines, f"{total}: {'all good' if clean else 'see above'}"), clean)
