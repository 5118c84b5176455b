"""The index of sessions: what a list says of each, in an SQLite file beside them. The session files stay the truth.

A row is good while its file's inode, size and time are what they were; of a file that has grown only the new part is
read. It can be thrown away at any time: a damaged one is made anew, and where it can't be written lists take longer
and that is all. SQLite and not a file of our own, because several processes write to it at once and 10,000 rows have
to be replaced one by one.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.regular import open_regular
from prunecli.session.digest import Digest, begins_record, whole_record

if TYPE_CHECKING:
    import sqlite3

SCHEMA = 1
MARK_BYTES = 64
BUSY_SECONDS = 0.5
_CREATE = """
create table if not exists session (
    path blob primary key, inode integer, size integer, time integer, read integer, mark blob, digest text
) without rowid
"""

_ROWS = "select path, inode, size, time, read, mark, digest from session where path >= ? and path < ?"


@dataclass(frozen=True, slots=True)
class File:
    """A session file as the folder shows it; `time` is its modification time in nanoseconds."""

    path: str
    inode: int
    size: int
    time: int


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of a file: as it was, how far it was read, the bytes before that place, and what was found."""

    file: File
    read: int
    mark: bytes
    digest: Digest

    @property
    def columns(self) -> tuple[int, int, int, int, bytes, str]:
        """What the table holds of it, beside the path."""
        file = self.file
        return file.inode, file.size, file.time, self.read, self.mark, self.digest.to_text()


class Index:
    """The index file. Every failure of it is silent: it only saves time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def digests(self, files: Iterable[File], *, within: str = "") -> Iterator[tuple[File, Digest]]:
        """What is known of each file that can be read, in the order of `files`; what was found out is kept at the
        end. Rows of paths that begin with `within` and are not among the files are forgotten."""
        database = self._open()
        fresh: list[Row] = []
        gone: Iterable[str] = ()
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
                self._keep(database, fresh, gone)
                database.close()

    def _open(self) -> "sqlite3.Connection | None":
        import sqlite3  # ten milliseconds, which a start without a list does not need

        for _ in range(2):
            try:
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
                database = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
            except (OSError, sqlite3.Error):
                return None
            try:
                database.execute("pragma synchronous = off")  # what a power cut takes is made anew
                if database.execute("pragma user_version").fetchone() != (SCHEMA,):
                    database.execute("drop table if exists session")
                    database.execute(f"pragma user_version = {SCHEMA}")
                database.execute(_CREATE)
                database.execute(_ROWS, (b"", b"")).fetchone()
            except sqlite3.OperationalError:
                database.close()  # another process is at it, or the disk is full
                return None
            except sqlite3.DatabaseError:
                database.close()
                self._discard()
            else:
                return database
        return None

    def _discard(self) -> None:
        with suppress(OSError):
            self._path.unlink()

    def _rows(self, database: "sqlite3.Connection | None", within: str) -> dict[str, Row]:
        if database is None:
            return {}
        import sqlite3

        found: dict[str, Row] = {}
        try:
            rows = database.execute(_ROWS, (os.fsencode(within), os.fsencode(within) + b"\xff"))
            for path, inode, size, time, so_far, mark, text in rows:
                with suppress(ValueError, TypeError):
                    file = File(os.fsdecode(path), inode, size, time)
                    found[file.path] = Row(file, so_far, mark, Digest.from_text(text))
        except sqlite3.OperationalError:
            pass
        except sqlite3.DatabaseError:
            self._discard()
        return found

    def _keep(self, database: "sqlite3.Connection", fresh: list[Row], gone: Iterable[str]) -> None:
        if not (fresh or gone):
            return
        import sqlite3

        values = [(os.fsencode(one.file.path), *one.columns) for one in fresh]
        with suppress(sqlite3.Error):
            database.execute("begin immediate")
            database.executemany(
                "delete from session where path = ?", [(os.fsencode(path),) for path in gone]
            )
            database.executemany("insert or replace into session values (?, ?, ?, ?, ?, ?, ?)", values)
            database.execute("commit")


def read(file: File, known: Row | None = None) -> Row | None:
    """Reads a file, or what was added to it since; None where it can't be read."""
    try:
        with open_regular(file.path) as stream:
            digest, place, mark = Digest(), 0, b""
            if known and _has_grown(file, known):
                stream.seek(known.read - len(known.mark))
                if stream.read(len(known.mark)) == known.mark:
                    digest, place, mark = Digest.from_text(known.digest.to_text()), known.read, known.mark
                else:
                    stream.seek(0)
            for line in stream:
                if not line.endswith(b"\n") and whole_record(line) is None:
                    break  # it is still being written
                if place == 0 and not begins_record(line):
                    return Row(file, 0, b"", Digest())  # somebody else's file
                digest.take(line)
                place += len(line)
                mark = (mark + line)[-MARK_BYTES:]
    except OSError:
        return None
    return Row(file, place, mark, digest)


def _has_grown(file: File, known: Row) -> bool:
    """Whether what was read may still be the beginning of the file: checked by its last bytes then."""
    return bool(known.read and file.inode == known.file.inode and file.size > known.file.size)
