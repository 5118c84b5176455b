"""The index of sessions: an SQLite cache of the facts that lists show. The session files are the truth.

A row is valid while the file's inode, size and time are unchanged. If a file has grown, only the new part is read.
The index can be deleted at any time: a damaged one is rebuilt, and if it cannot be written, lists only take longer.
SQLite lets several processes write at once, and replaces single rows among 10,000.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.session.digest import Digest, begins_record, whole_record
from prunecli.session.lines import record_lines
from prunecli.util.frozen import frozen
from prunecli.util.lazy import lazy
from prunecli.util.regular import open_regular

if TYPE_CHECKING:
    import sqlite3
else:
    sqlite3 = lazy("sqlite3")


SCHEMA = 4
MARK_BYTES = 64
BUSY_SECONDS = 0.5
_COLUMNS = (
    "path blob primary key, inode integer, size integer, time integer, read integer, mark blob, digest text"
)
_ROWS = "select path, inode, size, time, read, mark, digest from session where path >= ? and path < ?"


@frozen
class File:
    """A session file in its folder. `time` is its modification time in nanoseconds."""

    path: str
    inode: int
    size: int
    time: int


@frozen
class IndexRow:
    """The known state of a file: where reading stopped, the bytes before that, and the digest."""

    file: File
    read: int
    mark: bytes
    digest: Digest

    @property
    def columns(self) -> tuple[int, int, int, int, bytes, str]:
        file = self.file
        return file.inode, file.size, file.time, self.read, self.mark, self.digest.to_text()


class Index:
    """The index file. All failures are silent, since the index only saves time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def digests(self, files: Iterable[File], *, within: str = "") -> Iterator[tuple[File, Digest]]:
        """Yield the digest of each readable file, in the order of `files`. Saves new digests at the end.

        Drops rows whose path starts with `within` and is not among the files.
        """
        database = opened(self._path, "session", _COLUMNS, SCHEMA)
        fresh: list[IndexRow] = []
        gone: Collection[str] = ()
        try:
            known = self._rows(database, within)
            for file in files:
                row = known.pop(file.path, None)
                if row is None or row.file != file:
                    row = read(file, row)
                    if row is None:
                        continue
                    fresh.append(row)
                yield file, row.digest
            gone = known
        finally:
            if database is not None:
                if fresh or gone:
                    rows = [(os.fsencode(one.file.path), *one.columns) for one in fresh]
                    keep(database, "session", rows, map(os.fsencode, gone))
                database.close()

    def _rows(self, database: "sqlite3.Connection | None", within: str) -> dict[str, IndexRow]:
        if database is None:
            return {}
        found: dict[str, IndexRow] = {}
        try:
            rows = database.execute(_ROWS, (os.fsencode(within), os.fsencode(within) + b"\xff"))
            for path, inode, size, time, so_far, mark, text in rows:
                with suppress(ValueError, TypeError):
                    file = File(os.fsdecode(path), inode, size, time)
                    found[file.path] = IndexRow(file, so_far, mark, Digest.from_text(text))
        except sqlite3.OperationalError:
            pass
        except sqlite3.DatabaseError:
            discard(self._path)
        return found


def opened(path: Path, table: str, columns: str, version: int) -> "sqlite3.Connection | None":
    """Open a cache with one table, made anew if it is damaged or of another version. Return None if it cannot be
    used: a cache only saves time."""
    for _ in range(2):
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            database = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        except (OSError, sqlite3.Error):
            return None
        try:
            database.execute("pragma synchronous = off")  # anything lost in a power cut is rebuilt
            if database.execute("pragma user_version").fetchone() != (version,):
                database.execute(f"drop table if exists {table}")
                database.execute(f"pragma user_version = {version}")
            database.execute(f"create table if not exists {table} ({columns}) without rowid")
            database.execute(f"select * from {table} limit 1").fetchone()  # noqa: S608
        except sqlite3.OperationalError:
            database.close()  # another process is using it, or the disk is full
            return None
        except sqlite3.DatabaseError:
            database.close()
            discard(path)
        else:
            return database
    return None


def discard(path: Path) -> None:
    """Delete a damaged cache."""
    with suppress(OSError):
        path.unlink()


def keep(
    database: "sqlite3.Connection", table: str, rows: Sequence[tuple[object, ...]], gone: Iterable[bytes] = ()
) -> None:
    """Write rows of a cache, which begin with their paths, and drop the rows of other paths."""
    with suppress(sqlite3.Error):
        database.execute("begin immediate")
        database.executemany(f"delete from {table} where path = ?", [(path,) for path in gone])  # noqa: S608
        if rows:
            places = ", ".join("?" * len(rows[0]))
            database.executemany(f"insert or replace into {table} values ({places})", rows)  # noqa: S608
        database.execute("commit")


def read(file: File, known: IndexRow | None = None) -> IndexRow | None:
    """Read a file, or only what was added since `known`. None if it cannot be read."""
    try:
        with open_regular(file.path) as stream:
            digest, place, mark = Digest(), 0, b""
            if known and _has_grown(file, known):
                stream.seek(known.read - len(known.mark))
                if stream.read(len(known.mark)) == known.mark:
                    digest, place, mark = Digest.from_text(known.digest.to_text()), known.read, known.mark
                else:
                    stream.seek(0)
            for line in record_lines(stream):
                if not line.endswith(b"\n") and whole_record(line) is None:
                    break  # still being written
                if place == 0 and not begins_record(line):
                    return IndexRow(file, 0, b"", Digest())  # not a session file
                digest.take(line)
                if not line.endswith(b"\n"):
                    # The next addition may belong to this line, so read the whole file then.
                    return IndexRow(file, 0, b"", digest)
                place += len(line)
                mark = (mark + line)[-MARK_BYTES:]
    except OSError:
        return None
    return IndexRow(file, place, mark, digest)


def _has_grown(file: File, known: IndexRow) -> bool:
    """Return whether a file may have grown since it was read; the caller compares the last bytes."""
    return bool(known.read and file.inode == known.file.inode and file.size > known.file.size)
