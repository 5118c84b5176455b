"""What belongs to a Codex session but is not in its file: the beginning of its conversation, and its name.

A session that was forked or reverted continues the beginning of another file. The `history_base` of its
`session_meta` has the id of that file, which ends the file's name, and the number of its bytes, before packing. That
file may continue another one.

A revert keeps the session's id. It begins a new file, `rollout-TIME-SESSION_FILE.jsonl`, and keeps the earlier ones
only as its beginning. Archiving moves all of them, and each may be packed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prunecli.model.codec import strict_loads
from prunecli.model.messages import Json
from prunecli.session.importers.json_rows import MAX_BYTES, Rows, content_of, open_session, rows_of
from prunecli.session.importers.known_agents import KNOWN, PACKED
from prunecli.session.importers.transcript import count, part, words
from prunecli.util.errors import SessionCorrupt
from prunecli.util.frozen import frozen

_ID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAME = re.compile(rf"rollout-[0-9T-]{{19}}-(?P<session>{_ID})(?:_(?P<file>{_ID}))?\.jsonl(?:\{PACKED})?")
_LIVE, _ARCHIVED = Path(KNOWN["codex"].folder).name, KNOWN["codex"].archive
_NAMES = "session_index.jsonl"
_MOST_NAMES = 1 << 26
_LONGEST_META = 1 << 24


@frozen
class Beginning:
    """The files that a session continues, oldest first, each cut where the next one begins; and what is missing."""

    parts: tuple[tuple[Path, bytes], ...] = ()
    problem: str = ""


def current(files: Iterable[Path]) -> list[Path]:
    """Return files without those that only hold the beginning of another one, or are packed copies of one."""
    found = list(files)
    names = set(found)
    newest: dict[str, str] = {}
    for path in found:
        if match := _NAME.fullmatch(path.name):
            newest[match["session"]] = max(match["file"] or "", newest.get(match["session"], ""))

    def is_current(path: Path) -> bool:
        match = _NAME.fullmatch(path.name)
        if match and (match["file"] or "") != newest[match["session"]]:  # these ids begin with their time
            return False
        return path.suffix != PACKED or path.with_suffix("") not in names

    return list(filter(is_current, found))


def with_beginning(path: Path, found: Rows) -> Rows:
    """Return a file's rows, after the first one those that it continues. Other files are returned unchanged."""
    begun = beginning_of(path, found.rows[0].value if found.rows else {})
    if not begun.parts and not begun.problem:
        return found
    earlier = [rows_of(data, other.name) for other, data in begun.parts]
    rows = [row for rows in earlier for row in rows.rows]
    damaged = [why for rows in earlier for why in rows.damaged]
    missing = [f"line 1: {begun.problem}"] if begun.problem else []
    return Rows((*found.rows[:1], *rows, *found.rows[1:]), (*missing, *damaged, *found.damaged))


def with_earlier_lines(path: Path, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a file's lines, after the first one those that it continues."""
    lines = iter(lines)
    for first in lines:
        yield first
        for _, data in beginning_of(path, _value(first)).parts:
            yield from data.splitlines(keepends=True)
        break
    yield from lines


def content_with_beginning(path: Path) -> bytes:
    """Return a file's content, with those that it continues, in no useful order. Raises like `content_of`."""
    data = content_of(path)
    begun = beginning_of(path, _value(data.partition(b"\n")[0]))
    return b"".join([data, *(earlier for _, earlier in begun.parts)])


def beginning_of(path: Path, first: Mapping[str, Json]) -> Beginning:
    """Read the files that a file continues. `first` is its first row."""
    room = MAX_BYTES
    parts: list[tuple[Path, bytes]] = []
    seen = {path.absolute()}
    here = path.absolute()
    problem = ""
    while not problem and (base := part(_meta(first).get("history_base"))):
        rollout, size = words(base.get("thread_id"))[:80], count(base.get("end_byte_offset"))
        found = _file_of(rollout, here)
        if found is None or found in seen:
            problem = f"earlier messages are missing: no file of {rollout or 'an unnamed session'}"
            break
        try:
            with open_session(found, MAX_BYTES) as file:
                data = file.read(min(size, room + 1))
        except SessionCorrupt as error:
            problem = f"earlier messages are missing: {error.message}"
            break
        except OSError as error:
            problem = f"earlier messages are missing: {found}: {error.strerror or error}"
            break
        room -= len(data)
        if room < 0:
            problem = f"earlier messages are missing: {found}: too large"
            break
        parts.append((found, data))
        seen.add(found)
        here, first = found, _value(data.partition(b"\n")[0])
    return Beginning(tuple(reversed(parts)), problem)


def is_of_subagent(path: Path) -> bool:
    """Return whether a file is that of a subagent. False if it cannot be read."""
    try:
        with open_session(path) as file:
            meta = _meta(_value(file.readline(_LONGEST_META)))
    except (OSError, SessionCorrupt):
        return False
    return "subagent" in part(meta.get("source"))


def names(home: Path) -> dict[str, str]:
    """Return the names that the user gave to sessions, by id; none if they can't be read."""
    try:
        rows = rows_of(content_of(home / _NAMES, _MOST_NAMES)).rows
    except (OSError, SessionCorrupt):
        return {}
    return {words(row.value.get("id")): words(row.value.get("thread_name")) for row in rows}


def name_of(path: Path, session: str) -> str:
    """Return the name of the session in a file, "" if it has none."""
    home = _home_of(path.absolute())
    return names(home).get(session, "") if home and session else ""


def _meta(row: Mapping[str, Json]) -> Mapping[str, Json]:
    return part(row.get("payload")) if row.get("type") == "session_meta" else {}


def _value(line: bytes) -> Mapping[str, Json]:
    try:
        return part(strict_loads(line))
    except ValueError:
        return {}


def _home_of(path: Path) -> Path | None:
    return next((parent.parent for parent in path.parents if parent.name in (_LIVE, _ARCHIVED)), None)


def _file_of(rollout: str, near: Path) -> Path | None:
    """Return the file with this id: beside another one, among the archived ones, or in the folder of its day."""
    if not re.fullmatch(_ID, rollout):
        return None
    folders = [near.parent]
    if home := _home_of(near):
        folders += [home / _ARCHIVED, *(home / _LIVE / day for day in _days(rollout))]
    for folder in folders:
        paths = [path for path in folder.glob(f"rollout-*{rollout}.jsonl*") if _is_of(path, rollout)]
        if paths:
            return min(paths, key=lambda path: path.suffix == PACKED)
    return None


def _is_of(path: Path, rollout: str) -> bool:
    match = _NAME.fullmatch(path.name)
    return match is not None and (match["file"] or match["session"]) == rollout


def _days(rollout: str) -> Iterator[str]:
    """Yield the folders for the time in an id, which is in UTC, in any time zone."""
    milliseconds = int(rollout.replace("-", "")[:12], 16)
    try:
        day = datetime.fromtimestamp(milliseconds / 1000, UTC)
        for difference in (0, -1, 1):
            yield (day + timedelta(days=difference)).strftime("%Y/%m/%d")
    except (ValueError, OverflowError, OSError):
        return
