"""The export formats by name, and writing an export to a private file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module

from prunecli.features.export.exporters.redact import redacted
from prunecli.model.events import (
    Attached,
    CompactionApplied,
    PrunApplied,
    PrunReverted,
    Record,
    ToolResult,
    UserMessage,
)
from prunecli.util.errors import UsageError
from prunecli.util.frozen import frozen

ENDINGS: Mapping[str, str] = {"markdown": ".md", "html": ".html", "pi": ".jsonl", "messages": ".json"}
"""The file ending of each format."""
_CHANGES = (PrunApplied, PrunReverted, CompactionApplied)
_NAMES = {"md": "markdown", "htm": "html", "json": "messages"}


@frozen
class Exported:
    text: str
    redacted: int


def is_format(name: str) -> bool:
    return name.lower() in (*ENDINGS, *_NAMES)


def format_named(name: str) -> str:
    """Return the format for a name or common abbreviation. Raises UsageError for unknown names."""
    found = _NAMES.get(name.lower(), name.lower())
    if found not in ENDINGS:
        raise UsageError(f"no format named {name!r}", f"choose {', '.join(ENDINGS)}")
    return found


def exported(
    records: Sequence[Record], format_: str, *, whole: bool = False, keep_secrets: bool = False
) -> Exported:
    """Export a session, replacing secrets of known shapes unless `keep_secrets` is set.

    `whole` ignores prunes, compactions and omissions from long results. Raises UsageError for an unknown format.
    """
    name = format_named(format_)
    kept = (
        [_whole(record) for record in records if not isinstance(record.event, _CHANGES)]
        if whole
        else list(records)
    )
    replaced = 0
    if not keep_secrets:
        kept, replaced = redacted(kept)
    write: Callable[[Sequence[Record]], str] = import_module(
        f"prunecli.features.export.exporters.{name}"
    ).write
    return Exported(write(kept), replaced)


def _whole(record: Record) -> Record:
    match record.event:
        case ToolResult() as event:
            return replace(record, event=replace(event, spilled=None, tokens=None))
        case UserMessage(attached=Attached() as attached) as event:
            return replace(record, event=replace(event, attached=replace(attached, spilled=None)))
        case _:
            return record
