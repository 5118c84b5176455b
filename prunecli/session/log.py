"""Reading a session file: all that is good is kept, all that is not is named (ROBUSTNESS.md rule 2).

Lines end at newline bytes only, each crc is checked, and nothing is ever rewritten. `writer` is who appends.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from prunecli.errors import SessionCorrupt
from prunecli.model.events import Record, Unknown
from prunecli.model.record_codec import decode_record
from prunecli.regular import open_regular, read_regular


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that can't be used: its number from 1, its bytes (none where they need no copy), and why.

    `seq` is the number of its record, None where it can't be told.
    """

    number: int
    data: bytes
    why: str
    seq: int | None = None

    def __str__(self) -> str:
        record = "" if self.seq is None else f", record {self.seq}"
        return f"line {self.number}{record}: {self.why}"


MOST_SAID = 20
"""So many complaints about a file are said one by one."""


def complaints(path: Path, bad: Sequence[BadLine], more: Sequence[str] = ()) -> list[str]:
    """What is wrong with a session file, a line each with its name; the first ones only where there are many."""
    found = [f"{path.name} {why}" for why in (*map(str, bad), *more)]
    left = len(found) - MOST_SAID
    rest = [f"{path.name}: {left:,} more; `prunecli sessions verify` lists the bad lines"] if left > 0 else []
    return [*found[:MOST_SAID], *rest]


@dataclass(slots=True)
class Loaded:
    """What a file holds: good records in order, and what was passed over."""

    records: list[Record] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)
    complete: bool = True
    """Whether the file ends with a line end."""
    lines: int = 0
    last_line: int = 0
    """The line of the last good record."""


def read_log(path: Path) -> Loaded:
    """Every good record of a file. Raises SessionCorrupt where not one is, OSError where it can't be read."""
    with open_regular(path) as file:
        return read_lines(path, file)


def read_lines(path: Path, lines: Iterable[bytes]) -> Loaded:
    """Every good record of a file's lines. Raises SessionCorrupt where not one is."""
    loaded = Loaded()
    for line in lines:
        take_line(loaded, line)
    require_records(path, loaded)
    return loaded


def require_records(path: Path, loaded: Loaded) -> None:
    """Raises SessionCorrupt where there is no good record."""
    if not loaded.records:
        first = loaded.bad[0] if loaded.bad else BadLine(1, b"", "the file is empty")
        raise SessionCorrupt(path, first.number, first.why)


def take_line(loaded: Loaded, line: bytes) -> None:
    """Adds the next line of a file, with its line end, to what was read so far."""
    loaded.lines = number = loaded.lines + 1
    loaded.complete = line.endswith(b"\n")
    try:
        record = decode_record(line)
    except ValueError:
        data = line.strip(b"\r\n\0").removeprefix(b"\xef\xbb\xbf")
        if not data:
            if b"\0" in line:
                loaded.bad.append(BadLine(number, line, "a hole of zero bytes"))
            return
        try:
            record = _decoded(data)
        except ValueError as error:
            loaded.bad.append(BadLine(number, line, str(error)))
            return
        if b"\0" in line:
            loaded.bad.append(BadLine(number, b"", "zero bytes beside a good record: others may be missing"))
    last = loaded.records[-1].seq if loaded.records else -1
    if record.seq <= last:
        loaded.bad.append(BadLine(number, line, f"seq {record.seq} after {last}"))
        return
    if record.seq != last + 1 and not _told(loaded, last + 1, record.seq):
        missing = f"{last + 1}" if record.seq == last + 2 else f"{last + 1} to {record.seq - 1}"
        loaded.bad.append(BadLine(number, b"", f"missing before this line: records {missing}"))
    if isinstance(record.event, Unknown) and record.event.why:
        loaded.bad.append(BadLine(number, b"", record.event.why, record.seq))
    loaded.records.append(record)
    loaded.last_line = number


def _told(loaded: Loaded, first: int, end: int) -> bool:
    """Whether the bad lines since the last good one are the records from `first` to before `end`, one each; they get
    their numbers then."""
    bad = loaded.bad
    since = [at for at, one in enumerate(bad) if one.number > loaded.last_line and one.data.endswith(b"\n")]
    numbers = [bad[at].number for at in since]
    if numbers != list(range(loaded.last_line + 1, loaded.lines)) or len(since) != end - first:
        return False
    for seq, at in enumerate(since, first):
        bad[at] = replace(bad[at], seq=seq)
    return True


def _decoded(data: bytes) -> Record:
    """The record of a line, or of a good record that stands behind a stub on the same line (LOG-05)."""
    try:
        return decode_record(data)
    except ValueError as error:
        at = data.rfind(b'{"seq":')
        if at > 0:
            with suppress(ValueError):
                return decode_record(data[at:])
        raise error from None


def quarantine(path: Path, bad: list[BadLine]) -> Path | None:
    """Copies damaged lines to `<id>.quarantine` beside the log; the log stays as it is. None where none is new."""
    lines = [line.data if line.data.endswith(b"\n") else line.data + b"\n" for line in bad if line.data]
    if not lines:
        return None
    place = path.with_suffix(".quarantine")
    try:
        known = read_regular(place) if place.exists() else b""
        new = [line for line in lines if line not in known]
        if new:
            fd = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(fd, "ab") as file:
                file.writelines(new)
    except OSError:
        return None
    return place
