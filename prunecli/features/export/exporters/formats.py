"""The export formats by name, and writing an export to a private file."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

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
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PAGE = b"<!doctype html>"
_CHANGES = (PrunApplied, PrunReverted, CompactionApplied)
_NAMES = {"md": "markdown", "htm": "html", "json": "messages"}


@frozen
class Exported:
    text: str
    redacted: int


def is_format(name: str) -> bool:
    """Return whether a format has this name or abbreviation."""
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
    kept = [_whole(one) for one in records if not isinstance(one.event, _CHANGES)] if whole else list(records)
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


def check_writable(path: Path) -> None:
    """Raise UsageError if `write_new` could not write this file, so that no long work is lost."""
    try:
        _refuse(path)
        if not os.path.isdir(path.parent):
            raise UsageError(f"cannot write {path}: No such file or directory")
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: Permission denied")


def check_page(path: Path) -> None:
    """Raise UsageError if a page could not be written to this file, or would replace a file of another kind."""
    if path == Path("-"):
        raise UsageError("--html -: a page can't go to standard output", "name a file, such as page.html")
    check_writable(path)
    try:
        with path.open("rb") as file:
            is_page = file.read(len(_PAGE)).lower() in (b"", _PAGE)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "choose another name") from error
    if not is_page:
        raise UsageError(f"{path} already exists, and is not an HTML page", "choose another name")


def _refuse(path: Path) -> None:
    if os.path.islink(path):
        raise UsageError(f"{path} is a symbolic link", "give the path of the file itself")
    if os.path.isdir(path):
        raise UsageError(f"{path} is a directory", "give the path of a file in it")
    if os.path.exists(path) and not os.path.isfile(path):
        raise UsageError(f"{path} is not a regular file", "give the path of a file")


def write_new(path: Path, text: str, *, force: bool = False) -> None:
    """Write a new file of mode 0600. `force` replaces an existing file, but never a link.

    Raises UsageError if that fails; no partial file is left.
    """
    try:
        _refuse(path)
        target = path.with_name(f".{path.name}.{os.getpid()}.part") if force else path
        fd = os.open(target, _NEW, 0o600)
    except FileExistsError:
        raise UsageError(
            f"{path} already exists", "choose another name, or use --force to overwrite it"
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        with open(fd, "w", encoding="utf-8", newline="\n", errors="replace") as file:
            file.write(text)
        if force:
            target.replace(path)
    except OSError as error:
        target.unlink(missing_ok=True)
        raise UsageError(
            f"cannot write {path}: {error.strerror}", "free some space or use another folder"
        ) from error
