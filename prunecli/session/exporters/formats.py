"""The export formats by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from prunecli.errors import UsageError
from prunecli.model.events import CompactionApplied, PrunApplied, PrunReverted, Record, ToolResult
from prunecli.session.exporters.redact import redacted

ENDINGS: Mapping[str, str] = {"markdown": ".md", "html": ".html", "pi": ".jsonl", "messages": ".json"}
"""The file ending of each format."""
_NAMES = {"md": "markdown", "htm": "html", "json": "messages"}


@dataclass(frozen=True, slots=True)
class Exported:
    """The text of an export and the number of secrets replaced in it."""

    text: str
    redacted: int


def format_named(name: str) -> str:
    """The format for a name or common abbreviation. Raises UsageError for unknown names."""
    found = _NAMES.get(name.lower(), name.lower())
    if found not in ENDINGS:
        raise UsageError(f"no format named {name!r}", f"choose {', '.join(ENDINGS)}")
    return found


def exported(
    records: Sequence[Record], format_: str, *, whole: bool = False, keep_secrets: bool = False
) -> Exported:
    """Export a session, replacing secrets of known shapes unless `keep_secrets` is set.

    `whole` ignores prunes and compactions, and what was held back. Raises UsageError for an unknown format.
    """
    name = format_named(format_)
    kept = [_whole(one) for one in records if not isinstance(one.event, _CHANGES)] if whole else list(records)
    replaced = 0
    if not keep_secrets:
        kept, replaced = redacted(kept)
    write: Callable[[Sequence[Record]], str] = import_module(f"prunecli.session.exporters.{name}").write
    return Exported(write(kept), replaced)


def _whole(record: Record) -> Record:
    event = record.event
    return (
        replace(record, event=replace(event, spilled=None, tokens=None))
        if isinstance(event, ToolResult)
        else record
    )


_CHANGES = (PrunApplied, PrunReverted, CompactionApplied)
