"""Verifies a session: checks every line's crc and recomputes the hash of every request from the log alone."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from prunecli.context.render import is_lost
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import Record, RequestSent, ToolResult, UserMessage
from prunecli.session.blobs import Blobs
from prunecli.session.log import Loaded
from prunecli.util.frozen import frozen


@frozen
class Report:
    """The result as lines of text; `clean` if there was no problem."""

    lines: tuple[str, ...]
    clean: bool


class EarlierRequests:
    """The requests as earlier versions of prunecli sent them: without a placeholder for a message with nothing to
    send.

    This costs a second fold, but only for a log with such a message.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        lost = any(map(_is_lost, records))
        self._context = Context(Chars4(), billed=False) if lost else None

    def apply(self, record: Record) -> None:
        if self._context is None:
            return
        if _is_lost(record) and isinstance(record.event, UserMessage | ToolResult):
            record = replace(record, event=replace(record.event, content=()))
        self._context.apply(record)

    def proves(self, sent: RequestSent) -> bool:
        return self._context is not None and self._context.sha256() == sent.sha256


def _is_lost(record: Record) -> bool:
    return isinstance(record.event, UserMessage | ToolResult) and is_lost(record.event.content)


def verify_session(path: Path, loaded: Loaded) -> Report:
    """Fold the log again and compare every RequestSent. Names the first request that differs."""
    lines = list(map(str, loaded.bad))
    context, earlier = Context(Chars4(), billed=False), EarlierRequests(loaded.records)
    blobs = Blobs(path.parent / "blobs")
    requests = 0
    wrong: str | None = None
    for record in loaded.records:
        event, missing = blobs.resolved(record.event)
        lines += missing
        if isinstance(event, RequestSent):
            requests += 1
            if wrong is None and context.sha256() != event.sha256 and not earlier.proves(event):
                wrong = f"record {record.seq}: request {requests} does not match the log"
        whole = record if event is record.event else Record(record.seq, record.timestamp, event)
        context.apply(whole)
        earlier.apply(whole)
    if wrong:
        lines.append(wrong)
    clean = not lines
    total = f"{len(loaded.records)} records, {requests} requests"
    return Report((*lines, f"{total}: {'all good' if clean else 'see above'}"), clean)
