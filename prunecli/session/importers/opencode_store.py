"""OpenCode's database, opened for reading only: a session in it as the value that `opencode export` prints.

A session is named as if the database were a folder: `opencode.db/ses_123`.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from prunecli.errors import SessionCorrupt
from prunecli.model.messages import Json

_BEFORE_OPENING = 2.0
"""Seconds to wait for OpenCode while it writes."""


def in_store(path: Path) -> bool:
    """Whether a path names a session in a database."""
    return path.parent.suffix == ".db" and path.parent.is_file()


def sessions_in_store(store: Path, cwd: Path | None = None) -> list[tuple[int, Path]]:
    """The sessions of a database with the times of their last changes; () for a file that is none.

    Sessions of subagents are left out. Only those of a directory if one is given.
    """
    query = "SELECT id, time_updated FROM session WHERE parent_id IS NULL"
    given: tuple[str, ...] = ()
    if cwd is not None:
        query, given = f"{query} AND directory = ?", (str(cwd),)
    try:
        with closing(_opened(store)) as database:
            return [(int(changed), store / str(name)) for name, changed in database.execute(query, given)]
    except (sqlite3.Error, ValueError, TypeError):
        return []


def export_of(path: Path) -> Json:
    """The session that this path names. Raises SessionCorrupt for a database or a session that is not there."""
    store, name = path.parent, path.name
    try:
        with closing(_opened(store)) as database:
            row = database.execute(
                "SELECT title, directory, time_created FROM session WHERE id = ?", (name,)
            ).fetchone()
            if row is None:
                raise SessionCorrupt(path, 0, "no such session in this database")
            messages = database.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (name,)
            ).fetchall()
            parts = database.execute(
                "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY id", (name,)
            ).fetchall()
    except sqlite3.Error as error:
        raise SessionCorrupt(path, 0, f"not OpenCode's database: {error}") from error
    parts_of: dict[str, list[Json]] = {}
    for message, part, data in parts:
        parts_of.setdefault(message, []).append({"id": part, **_object(data)})
    return {
        "info": {"id": name, "title": row[0], "directory": row[1], "time": {"created": row[2]}},
        "messages": [
            {"info": {"id": message, **_object(data)}, "parts": parts_of.get(message, [])}
            for message, data in messages
        ],
    }


def _object(data: Any) -> dict[str, Json]:
    try:
        value = json.loads(data)
    except (ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


def _opened(store: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True, timeout=_BEFORE_OPENING)
