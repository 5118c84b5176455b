"""Where sessions lie and how one is found: by id, by unique prefix, by name, or as the last of a directory."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count, islice
from pathlib import Path

from prunecli.errors import SessionNotFound
from prunecli.model.events import SettingChanged, UserMessage
from prunecli.model.messages import plain_text
from prunecli.model.record_codec import decode_record
from prunecli.paths import slug
from prunecli.session.log import first_record

_HEAD_LINES = 12
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def new_id(now_ms: int, random: bytes) -> str:
    """A session's id: sortable by time, readable, unique."""
    when = datetime.fromtimestamp(now_ms / 1000, UTC)
    return f"{when:%Y%m%d-%H%M%S}-{random.hex()[:6]}"


@dataclass(frozen=True, slots=True)
class Listed:
    """A session in a list. Sizes in bytes, times in unix ms; `title` is how its first prompt begins."""

    id: str
    path: Path
    cwd: str
    name: str
    title: str
    started: int
    changed: int
    size: int


class Store:
    """All sessions below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def new_path(self, cwd: Path, session_id: str) -> Path:
        """Where a new session of this directory will lie."""
        return self.root / slug(cwd.resolve()) / f"{session_id}.jsonl"

    def list(self, cwd: Path | None = None) -> list[Listed]:
        """Sessions, of one directory or all, the last changed first. Only heads and ends of files are read."""
        found = [listed for path in self._paths(cwd) if (listed := _listed(path))]
        return sorted(found, key=lambda one: (one.changed, one.id), reverse=True)

    def last(self, cwd: Path) -> Path:
        """The session of this directory that was changed last. Raises SessionNotFound."""
        listed = self.list(cwd)
        if not listed:
            raise SessionNotFound(f"no session of {cwd} yet", "start one with prunecli")
        return listed[0].path

    def find(self, wanted: str) -> Path:
        """The session with this id, unique prefix of one, or name. Raises SessionNotFound."""
        known = self.list()
        if _ID.fullmatch(wanted):
            exact = [one.path for one in known if one.id == wanted]
            prefixed = exact or [one.path for one in known if one.id.startswith(wanted)]
            if len(prefixed) == 1:
                return prefixed[0]
            if len(prefixed) > 1:
                raise SessionNotFound(f"{len(prefixed)} sessions begin with {wanted}", "give more of the id")
        named = [one.path for one in known if one.name == wanted]
        if len(named) == 1:
            return named[0]
        raise SessionNotFound(f"no session {wanted!r}", "prunecli sessions list shows them")

    def _paths(self, cwd: Path | None) -> Iterator[Path]:
        folders = [self.root / slug(cwd.resolve())] if cwd else self.root.glob("*")
        for folder in folders:
            yield from folder.glob("*.jsonl")


def free_path(path: Path) -> Path:
    """The path, or where something is there the first of `ID-2.jsonl`, `ID-3.jsonl` … that is free."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    return next(place for place in chain([path], names) if not os.path.lexists(place))


def _listed(path: Path) -> Listed | None:
    started = first_record(path)
    if started is None:
        return None
    status = path.stat()
    begun, title = _beginning(path)
    changed = status.st_mtime_ns // 1_000_000
    return Listed(path.stem, path, started.cwd, _name(path), title, begun, changed, status.st_size)


def _beginning(path: Path) -> tuple[int, str]:
    """The first record's time and the first prompt's first line; only the head of the file is read."""
    begun, title = 0, ""
    with path.open("rb") as file:
        for line in islice(file, _HEAD_LINES):
            try:
                record = decode_record(line.strip(b"\r\n").removeprefix(b"\xef\xbb\xbf"))
            except ValueError:
                continue
            begun = begun or record.timestamp
            if isinstance(record.event, UserMessage):
                title = plain_text(record.event.content).strip().split("\n")[0][:80]
                break
    return begun, title


def _name(path: Path) -> str:
    """The last name that was given: the file is searched for it as bytes, without decoding it."""
    found = ""
    with path.open("rb") as file:
        for line in file:
            if b'"key":"session.name"' in line[:120]:
                try:
                    event = decode_record(line.strip(b"\r\n")).event
                except ValueError:
                    continue
                if isinstance(event, SettingChanged):
                    found = str(event.value or "")
    return found


def random_bytes() -> bytes:
    """Three bytes that tell apart sessions of one second."""
    return os.urandom(3)
