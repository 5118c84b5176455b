"""The formats that a session can be exported to, by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from prunecli.errors import UsageError
from prunecli.model.events import CompactionApplied, PrunApplied, PrunReverted, Record
from prunecli.session.exporters.redact import redacted

ENDINGS: Mapping[str, str] = {"markdown": ".md", "html": ".html", "pi": ".jsonl", "messages": ".json"}
"""What a file of each format ends with."""
_NAMES = {"md": "markdown", "htm": "html", "json": "messages"}


@dataclass(frozen=True, slots=True)
class Exported:
    """The text of an export, and how many secrets were replaced in it."""

    text: str
    redacted: int


def format_named(name: str) -> str:
    """The format of a name or a usual short form. Raises UsageError for another."""
    found = _NAMES.get(name.lower(), name.lower())
    if found not in ENDINGS:
        raise UsageError(f"there is no format {name!r}", ", ".join(ENDINGS))
    return found


def exported(
    records: Sequence[Record], format_: str, *, whole: bool = False, keep_secrets: bool = False
) -> Exported:
    """A session in one of the formats; secrets of known shapes are replaced unless they are to be kept.

    `whole` leaves prunes and compactions out of account. Raises UsageError for an unknown format.
    """
    name = format_named(format_)
    kept = [one for one in records if not whole or not isinstance(one.event, _CHANGES)]
    replaced = 0
    if not keep_secrets:
        kept, replaced = redacted(kept)
    write: Callable[[Sequence[Record]], str] = import_module(f"prunecli.session.exporters.{name}").write
    return Exported(write(kept), replaced)


_CHANGES = (PrunApplied, PrunReverted, CompactionApplied)
