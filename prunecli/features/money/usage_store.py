"""The usage of all sessions, cached by file identity in `usage.sqlite` and summed by day, project and model.

The cache beside the sessions only saves time. It can be deleted, and a damaged one is ignored. Sessions are read one
at a time, so the largest one bounds the memory.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunecli.features.money.usage import Pricing, SessionUsage, Sums, UsageRow, total, usage_of
from prunecli.session.blobs import Blobs
from prunecli.session.importers.remote import SessionFile
from prunecli.session.importers.source import read_source
from prunecli.session.index import keep, opened
from prunecli.session.loading import whole
from prunecli.session.log import read_log
from prunecli.util.errors import SessionError
from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    import sqlite3
else:
    sqlite3 = lazy("sqlite3")


NAME = "usage.sqlite"
SCHEMA = 1
BATCH = 25
"""Sessions after which new figures are saved, so that a canceled run is not lost."""
_COLUMNS = "path blob primary key, mark text, data text"


class UsageStore:
    """The usage of the sessions at these paths. `key` names the prices and settings that the figures depend on."""

    def __init__(self, folder: Path, pricing: Pricing, key: str) -> None:
        self._file = folder / NAME
        self._pricing = pricing
        self._key = sha256(f"{SCHEMA} {key}".encode()).hexdigest()[:16]

    def each(self, paths: Iterable[Path]) -> Iterator[tuple[Path, SessionUsage | None]]:
        """Yield the usage of each session, None for a file that holds no readable record."""
        database, fresh = opened(self._file, "usage", _COLUMNS, SCHEMA), list[tuple[bytes, str, str]]()
        try:
            for path in paths:
                mark, known = self._known(database, path)
                found = known or self._read(path)
                if found is not None and known is None and mark:
                    fresh.append((os.fsencode(path), mark, found.to_text()))
                if database is not None and len(fresh) >= BATCH:
                    keep(database, "usage", fresh)
                    fresh.clear()
                yield path, found
        finally:
            if database is not None:
                keep(database, "usage", fresh)
                database.close()

    def _read(self, path: Path) -> SessionUsage | None:
        try:
            loaded = read_log(path)
        except (OSError, SessionError):
            return None
        blobs = Blobs(path.parent / "blobs")
        found = usage_of(loaded.records, self._pricing, lambda record: whole(record, blobs))
        found.id, found.bad = found.id or path.stem, len(loaded.bad)
        return found

    def _known(self, database: "sqlite3.Connection | None", path: Path) -> tuple[str, SessionUsage | None]:
        """Return the identity of a file, "" if it is gone, and its figures if they are still valid."""
        try:
            state = path.stat()
        except OSError:
            return "", None
        mark = f"{self._key} {state.st_ino} {state.st_size} {state.st_mtime_ns}"
        if database is not None:
            with suppress(sqlite3.Error, ValueError, TypeError, KeyError):
                query = "select data from usage where path = ? and mark = ?"
                if row := database.execute(query, (os.fsencode(path), mark)).fetchone():
                    return mark, SessionUsage.from_text(row[0])
        return mark, None


def usage_at(file: SessionFile, pricing: Pricing) -> SessionUsage:
    """Return the usage of one session file of any agent, as that of this program. Raises OSError and SessionError."""
    source = read_source(file)
    found = usage_of(source.records, pricing)
    found.id = found.id or str(file)
    found.bad = sum(notice.startswith("line ") for notice in source.notices)
    if not source.native:
        found.rows = [replace(row, origin="own") for row in found.rows]
    return found


@dataclass(slots=True)
class UsageReport:
    """The sums. `imported` is the usage by other programs at prunecli's prices, which no other figure includes.
    `damaged` has sessions with the number of their unreadable lines, None if nothing could be read."""

    sessions: list[SessionUsage] = field(default_factory=list)
    rows: list[tuple[SessionUsage, UsageRow]] = field(default_factory=list)
    foreign: list[tuple[SessionUsage, UsageRow]] = field(default_factory=list)
    tasks: int = 0
    damaged: list[tuple[str, int | None]] = field(default_factory=list)

    def by(self, key: Callable[[SessionUsage, UsageRow], str]) -> dict[str, Sums]:
        found: dict[str, Sums] = {}
        for session, row in self.rows:
            found.setdefault(key(session, row), Sums()).add(row.sums)
        return found

    @property
    def count(self) -> int:
        return len({one.id for one, _ in self.rows})

    @property
    def days(self) -> dict[str, Sums]:
        return dict(sorted(self.by(lambda _, row: row.day).items()))

    @property
    def projects(self) -> dict[str, Sums]:
        return _dearest(self.by(lambda session, _: session.cwd or "(unknown)"))

    @property
    def models(self) -> dict[str, Sums]:
        return _dearest(self.by(lambda _, row: row.model or "(no name)"))

    @property
    def total(self) -> Sums:
        return total(row.sums for _, row in self.rows)

    @property
    def imported(self) -> Sums:
        return total(row.sums for _, row in self.foreign)

    def to_json(self) -> dict[str, Any]:
        """Return the report as `sessions stats --json` prints it; a session's figures are those of its /cost."""

        def parts(sums: dict[str, Sums]) -> list[dict[str, Any]]:
            return [{"name": name, **one.to_json()} for name, one in sums.items()]

        return {
            "total": self.total.to_json(),
            "days": parts(self.days),
            "projects": parts(self.projects),
            "models": parts(self.models),
            "imported": self.imported.to_json(),
            "tasks": self.tasks,
            "damaged": [{"id": name, "lines": lines} for name, lines in self.damaged],
            "sessions": [
                {"id": session.id, "name": session.name, "cwd": session.cwd, "started": session.started}
                | total(row.sums for row in session.rows).to_json()
                for session in self.sessions
            ],
        }


def report_of(
    found: Iterable[tuple[SessionFile, SessionUsage | None]], *, since: str = "", cwd: str = ""
) -> UsageReport:
    """Return the report of these sessions, since a day, in one directory.

    The copied part of a session is counted only if the original is gone. A task is billed to its session, so it is
    counted only if that session is gone.
    """
    report, known = UsageReport(), list[SessionUsage]()
    for path, one in found:
        if one is None or one.bad:
            name = path.stem if isinstance(path, Path) else str(path)
            report.damaged.append((name, one.bad if one else None))
        if one is not None:
            known.append(one)
    ids = {one.id for one in known}
    for one in known:
        has_parent = one.parent in ids
        if cwd and one.cwd != cwd:
            continue
        if one.is_task and has_parent:
            report.tasks += 1
            continue
        rows = [row for row in one.rows if row.day >= since]
        mine = [row for row in rows if row.origin == "own" or (row.origin == "copied" and not has_parent)]
        report.rows += [(one, row) for row in mine]
        report.foreign += [(one, row) for row in rows if row.origin == "imported"]
        if rows:
            report.sessions.append(one)
    return report


def _dearest(sums: dict[str, Sums]) -> dict[str, Sums]:
    return dict(sorted(sums.items(), key=lambda item: (-item[1].cost, -item[1].prompt, item[0])))
