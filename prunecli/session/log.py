"""Reads a session file: keeps every good record and reports every bad line.

Lines end only at newline bytes, each crc is checked, and nothing is ever rewritten. `writer` appends records.

`LOST_WORDS` replaces a user message that is unreadable, malformed, or possibly among damaged lines. It tells the
model that something is missing. The replacement is derived from the damage on each read, with the seq of the first
missing record, so it is always the same and never written.
"""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from prunecli.context import render
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    Record,
    RequestSent,
    Unknown,
    UserMessage,
)
from prunecli.model.messages import Text
from prunecli.model.record_codec import EVENT_TYPES, decode_record
from prunecli.plugins.features import features
from prunecli.session.digest import begins_record
from prunecli.session.lines import all_lines
from prunecli.util.errors import SessionCorrupt
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular, read_regular

LOST_WORDS = UserMessage((Text(render.LOST),), "import")
"""Replaces a user message that was lost or may have been lost."""

_AFTER_WORDS = (RequestSent, AssistantMessage, PrunApplied, CompactionApplied)
"""Events that follow a user message: a request, an event before a request, or the response in an imported session."""

_TYPE = re.compile(rb'"type":"(\w+)"')
_IMPORT = "if another agent wrote this file, run `prunecli sessions import FILE`"


@frozen
class BadLine:
    """An unusable line: its number from 1, its bytes (empty if they need no copy), and the reason.

    `seq` is the number of its record, None if unknown.
    """

    number: int
    data: bytes
    why: str
    seq: int | None = None

    def __str__(self) -> str:
        record = "" if self.seq is None else f", record {self.seq}"
        return f"line {self.number}{record}: {self.why}"


MOST_SAID = 20
"""Maximum problems of a file to report one by one."""


def complaints(path: Path, bad: Sequence[BadLine], more: Sequence[str] = ()) -> list[str]:
    """Return the first `MOST_SAID` problems of a session file, each as a line with the file's name."""
    found = [f"{path.name} {why}" for why in (*map(str, bad), *more)]
    left = len(found) - MOST_SAID
    rest = [f"{path.name}: {left:,} more; run `prunecli sessions verify` to list them"] if left > 0 else []
    return [*found[:MOST_SAID], *rest]


@dataclass(slots=True)
class Loaded:
    """The contents of a file: good records in order, and what was skipped.

    `is_end`: reading started in the middle, so no record is missing before the first.
    """

    records: list[Record] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)
    is_end: bool = False
    complete: bool = True
    """Whether the file ends with a newline."""
    lines: int = 0
    last_line: int = 0
    """The line of the last good record."""
    unread: list[bytes] = field(default_factory=list)
    """Damaged lines since the last good record."""


def read_log(path: Path) -> Loaded:
    """Return every good record of a file. Raises OSError, and SessionCorrupt if there is none."""
    with open_regular(path) as file:
        return read_lines(path, all_lines(file))


def read_lines(path: object, lines: Iterable[bytes]) -> Loaded:
    """Return every good record in a file's lines. Raises SessionCorrupt if there is none."""
    loaded = Loaded()
    for line in lines:
        take_line(loaded, line)
    loaded.records += at_end(path, loaded)
    return loaded


def at_end(path: object, loaded: Loaded) -> list[Record]:
    """Return `LOST_WORDS` if the file ends with an unreadable but complete user message. Call this after the last
    line.

    Raises SessionCorrupt if there is no good record.
    """
    if not loaded.records:
        first = loaded.bad[0] if loaded.bad else BadLine(0, b"", "the file is empty")
        foreign = bool(first.number) and not any(map(begins_record, loaded.unread))
        hint = _IMPORT if foreign and "sessions import" in features().of("subcommand") else ""
        raise SessionCorrupt(path, first.number, first.why, hint)
    last = loaded.records[-1]
    said = any(_type(line) == "UserMessage" and line.endswith(b"}\n") for line in loaded.unread)
    return [Record(last.seq + 1, last.timestamp + 1, LOST_WORDS)] if said else []


def take_line(loaded: Loaded, line: bytes) -> None:
    loaded.lines = number = loaded.lines + 1
    loaded.complete = line.endswith(b"\n")
    try:
        record = decode_record(line)
    except ValueError:
        data = line.strip(b"\r\n\0").removeprefix(b"\xef\xbb\xbf")
        if not data:
            if b"\0" in line:
                loaded.bad.append(BadLine(number, line, "zero bytes"))
            return
        try:
            record, stub = _decoded(data)
        except ValueError as error:
            loaded.bad.append(BadLine(number, line, str(error)))
            loaded.unread.append(line)
            return
        if b"\0" in line:
            loaded.bad.append(
                BadLine(number, b"", "zero bytes next to a valid record; other records may be missing")
            )
        if stub:
            loaded.unread.append(stub)
    last = loaded.records[-1].seq if loaded.records else -1
    if record.seq <= last:
        loaded.bad.append(BadLine(number, line, f"seq {record.seq} after {last}"))
        return
    if record.seq != last + 1:
        if not _told(loaded, last + 1, record.seq):
            missing = f"{last + 1}" if record.seq == last + 2 else f"{last + 1} to {record.seq - 1}"
            loaded.bad.append(BadLine(number, b"", f"records {missing} missing before this line"))
        if not (loaded.is_end and last < 0) and _words_lost(loaded.unread, record.seq - last - 1, record):
            before = loaded.records[-1].timestamp if loaded.records else record.timestamp - 2
            loaded.records.append(Record(last + 1, before + 1, LOST_WORDS))
    if isinstance(record.event, Unknown) and record.event.why:
        loaded.bad.append(BadLine(number, b"", record.event.why, record.seq))
        if record.event.type == "UserMessage":
            record = replace(record, event=LOST_WORDS)
    loaded.unread.clear()
    loaded.records.append(record)
    loaded.last_line = number


def _told(loaded: Loaded, first: int, end: int) -> bool:
    """Return whether the bad lines since the last good one are exactly the records from `first` to before `end`.

    If so, they get their seqs.
    """
    bad = loaded.bad
    since = [at for at, one in enumerate(bad) if one.number > loaded.last_line and one.data.endswith(b"\n")]
    numbers = [bad[at].number for at in since]
    if numbers != list(range(loaded.last_line + 1, loaded.lines)) or len(since) != end - first:
        return False
    for seq, at in enumerate(since, first):
        bad[at] = replace(bad[at], seq=seq)
    return True


def _words_lost(unread: list[bytes], missing: int, following: Record) -> bool:
    """Return whether a user message is, or may be, among the missing records.

    The type of a damaged line is usually still readable. If a single record left no trace, the event after it
    decides.
    """
    if not unread and missing == 1:
        by_user = isinstance(following.event, PrunApplied) and following.event.source == "user"
        return isinstance(following.event, _AFTER_WORDS) and not by_user
    types = [_type(line) for line in unread]
    return "UserMessage" in types or sum(one in EVENT_TYPES for one in types) < missing


def _type(line: bytes) -> str:
    match = _TYPE.search(line)
    return match[1].decode() if match else ""


def _decoded(data: bytes) -> tuple[Record, bytes]:
    """Return the record of a line, or a good record after a partial one on the same line, and that partial record."""
    try:
        return decode_record(data), b""
    except ValueError as error:
        at = data.rfind(b'{"seq":')
        if at > 0:
            with suppress(ValueError):
                return decode_record(data[at:]), data[:at]
        raise error from None


def quarantine(path: Path, bad: list[BadLine]) -> Path | None:
    """Copy new damaged lines to `<id>.quarantine` beside the log. Return None if nothing was copied."""
    lines = [line.data if line.data.endswith(b"\n") else line.data + b"\n" for line in bad if line.data]
    if not lines:
        return None
    place = path.with_suffix(".quarantine")
    try:
        known = read_regular(place, follow=False) if os.path.exists(place) else b""
        new = [line for line in lines if line not in known]
        if new:
            fd = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(fd, "ab") as file:
                file.writelines(new)
    except OSError:
        return None
    return place
