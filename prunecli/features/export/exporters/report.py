"""A session prepared for export: each entry of the current branch, with its replacement for the model."""

from collections.abc import Sequence
from datetime import UTC, datetime

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import (
    AssistantMessage,
    AttemptBilled,
    PrunApplied,
    Record,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Block, Document, Image, Json, Opaque
from prunecli.model.notes import typed
from prunecli.model.requests import IMPORTED
from prunecli.model.searches import in_words, is_result, is_use
from prunecli.util.figures import money
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line, shortened


@frozen
class Reported:
    """An entry and its fate: "" if the model sees all of it, else `instead` is the text that it sees."""

    entry: Entry
    fate: str = ""
    instead: str | None = None

    @property
    def when(self) -> str:
        """The entry's time, UTC to the second."""
        return moment(self.entry.timestamp)

    @property
    def content(self) -> tuple[Block, ...]:
        """The entry's blocks; none for a summary, whose text is `entry.text`."""
        event = self.entry.event
        return event.content if not hasattr(event, "summary") else ()


@frozen
class Story:
    title: str
    facts: tuple[tuple[str, str], ...]
    entries: tuple[Reported, ...]


def moment(milliseconds: int) -> str:
    """Format a time of the log, UTC to the second."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def story(records: Sequence[Record]) -> Story:
    context = Context(Chars4())
    for record in records:
        context.apply(record)
    entries = tuple(_reported(context, entry) for _, entry in sorted(context.entries.items()))
    return Story(_title(context), _facts(context, records), entries)


def _reported(context: Context, entry: Entry) -> Reported:
    head = entry.exchange.head if entry.exchange else entry
    if not context.is_shown(head.seq):
        return Reported(entry, "replaced by a summary")
    if entry.exchange and context.dropped(entry.exchange):
        return Reported(entry, f"left out{_by(context, head.seq)}")
    edit = context.text_edit(entry.seq)
    if edit is not None:
        what = {"clear": "cleared", "trim": "trimmed", "cut": "input shortened"}.get(edit.kind, "replaced")
        return Reported(entry, f"{what}{_by(context, entry.seq)}", edit.text or "")
    return Reported(entry)


def _by(context: Context, seq: int) -> str:
    edits = context.edits_of(seq)
    record = context.pruns.get(edits[-1][0]) if edits else None
    if record is None or not isinstance(record.event, PrunApplied):
        return ""
    return f" by {record.event.strategy or 'the ' + record.event.source}"


def _title(context: Context) -> str:
    name = context.settings.get("session.name")
    if isinstance(name, str) and name:
        return name
    for entry in context.entries.values():
        if isinstance(entry.event, UserMessage) and entry.kind == "user":
            first = typed(entry.event).strip().split("\n")[0]
            if first:
                return shortened(first, 80)
    return "A session"


def _facts(context: Context, records: Sequence[Record]) -> tuple[tuple[str, str], ...]:
    started = context.started
    origin = context.settings.get(IMPORTED)
    source = origin.get("kind") if isinstance(origin, dict) else ""
    models = dict.fromkeys(
        record.event.model
        for record in records
        if isinstance(record.event, AssistantMessage) and record.event.model
    )
    requests = [
        record.event.usage for record in records if isinstance(record.event, AssistantMessage | AttemptBilled)
    ]
    sent = sum(usage.prompt_tokens for usage in requests)
    written = sum(usage.output_tokens for usage in requests)
    facts: list[tuple[str, str]] = [
        ("session", started.id if started else ""),
        ("directory", started.cwd if started else ""),
        ("model", ", ".join(models)),
        ("imported from", str(source or "")),
        ("started", moment(records[0].timestamp) + " UTC" if records else ""),
        ("tokens", f"{sent:,} sent, {written:,} received" if sent else ""),
    ]
    return tuple((name, value) for name, value in facts if value)


def argument(given: Json) -> str:
    """Return the most informative argument of a call: a path, a command, a pattern; "" if there is none."""
    if not isinstance(given, dict):
        return ""
    for key in ("path", "command", "pattern", "query", "url", "description"):
        if isinstance(given.get(key), str):
            return str(given[key])
    return next((value for value in given.values() if isinstance(value, str)), "")


def placeholder(block: Block) -> str:
    """Return a placeholder for a block that is not text."""
    if isinstance(block, Image):
        return f"[image, {block.media_type}]"
    if isinstance(block, Document):
        return f"[document, {block.media_type}]"
    if isinstance(block, Opaque) and (is_use(block) or is_result(block)):
        return one_line("; ".join(in_words(block.json).split("\n")))
    if isinstance(block, Opaque):
        return f"[{str(block.json.get('type') or 'block')[:40]}]"
    return ""


def task_words(entry: Entry) -> str:
    """Return a task result's session and its cost; "" for any other entry."""
    found = entry.event.details.get("task") if isinstance(entry.event, ToolResult) else None
    if not isinstance(found, dict) or not isinstance(found.get("child"), str):
        return ""
    cost = found.get("cost_usd")
    return one_line(f"session {found['child']}") + (f", {money(cost)}" if isinstance(cost, float) else "")
