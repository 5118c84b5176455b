"""A SOURCE of the command line: what kind of file it is, and its records (FORMATS.md).

A session file of our own, an agent-session/1 file, or JSON with Anthropic messages; `.gz` of each. The kind is
detected from the content.
"""

import gzip
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal, TypeAlias

from prunecli.errors import SessionCorrupt
from prunecli.model.codec import strict_loads
from prunecli.model.events import Record
from prunecli.session.blobs import Blobs
from prunecli.session.importers import agent_session, anthropic_messages
from prunecli.session.log import read_lines

Kind: TypeAlias = Literal["session", "agent-session", "messages"]

MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Source:
    """A file's records. `native` ones are our own: their recorded edits count."""

    kind: Kind
    records: list[Record]
    notices: tuple[str, ...] = ()

    @property
    def native(self) -> bool:
        """Whether it is a session of our own."""
        return self.kind == "session"


def read_source(path: Path) -> Source:
    """The records of a file of any known kind. Raises SessionCorrupt that names the line, OSError."""
    data = _content(path)
    try:
        if (value := _whole(data)) is not None:
            return Source("messages", anthropic_messages.records_of(value["messages"]))
        if _is_agent_session(data.split(b"\n", 1)[0]):
            return Source(
                "agent-session", agent_session.records_of(data.decode("utf-8", "replace").split("\n"))
            )
    except ValueError as error:
        line = str(error).removeprefix("line ").partition(":")[0]
        raise SessionCorrupt(path, int(line) if line.isdigit() else 1, str(error)) from error
    return _native(path, data)


def _is_agent_session(first_line: bytes) -> bool:
    try:
        head = strict_loads(first_line)
    except ValueError:
        return False
    return isinstance(head, dict) and head.get("format") == agent_session.FORMAT


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MAX_BYTES)
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise SessionCorrupt(path, 0, f"a damaged gzip file: {error}") from error


def _whole(data: bytes) -> dict[str, list[dict[str, object]]] | None:
    """The one JSON object of the file, if that is what it is."""
    if b'"messages"' not in data:
        return None
    try:
        value = strict_loads(data)
    except ValueError:
        return None
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return value
    return None


def _native(path: Path, data: bytes) -> Source:
    loaded = read_lines(path, BytesIO(data))
    blobs = Blobs(path.parent / "blobs")
    notices = [f"line {bad.number}: {bad.why}" for bad in loaded.bad]
    records = []
    for record in loaded.records:
        event, missing = blobs.resolved(record.event)
        notices += missing
        records.append(record if event is record.event else Record(record.seq, record.timestamp, event))
    return Source("session", records, tuple(notices))
