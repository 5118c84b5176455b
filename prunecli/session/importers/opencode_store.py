"""Reads sessions from OpenCode's database, in the form that `opencode export` prints.

The database is opened read-only. A session's path treats the database as a folder: `opencode.db/ses_123`.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from prunecli.errors import SessionCorrupt
from prunecli.model.codec import foreign_object
from prunecli.model.messages import Json
from prunecli.session.digest import PROMPT_CHARS, Digest
from prunecli.session.importers.opencode import name_of
from prunecli.session.importers.transcript import count, part, words
from prunecli.session.store import Listed

_BEFORE_OPENING = 2.0
"""Seconds to wait for OpenCode while it writes."""
_PROMPTS = """
    SELECT group_concat(json_extract(part.data, '$.text'), char(10))
    FROM message JOIN part ON part.message_id = message.id
    WHERE message.session_id = ? AND json_valid(message.data) AND json_valid(part.data)
    AND json_extract(message.data, '$.role') = 'user' AND json_extract(part.data, '$.type') = 'text'
    AND json_extract(part.data, '$.synthetic') IS NOT 1
    GROUP BY message.id ORDER BY message.time_created, message.id
"""
_ANSWER = """
    SELECT data FROM message WHERE session_id = ? AND json_valid(data) AND json_extract(data, '$.role') = 'assistant'
    ORDER BY time_created DESC, id DESC LIMIT 1
"""


def in_store(path: Path) -> bool:
    """Return whether a path names a session in a database."""
    return path.parent.suffix == ".db" and path.parent.is_file()


def sessions_in_store(store: Path) -> list[tuple[int, Path]]:
    """Return the sessions of a database with the times of their last changes, without those of subagents.

    Raises OSError if the file is not an OpenCode database or cannot be read.
    """
    query = "SELECT id, time_updated FROM session WHERE parent_id IS NULL"
    try:
        with closing(_opened(store)) as database:
            return [(int(changed), store / str(name)) for name, changed in database.execute(query)]
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise OSError(f"not an OpenCode database: {error}") from error


def digests_in_store(store: Path, is_here: Callable[[str], bool]) -> list[Listed]:
    """Return the sessions of the directories that `is_here` accepts, with the facts for a list. Raises OSError if the
    file is not an OpenCode database."""
    query = "SELECT id, title, directory, time_created, time_updated FROM session WHERE parent_id IS NULL"
    try:
        with closing(_opened(store)) as database:
            rows = [row for row in database.execute(query).fetchall() if is_here(str(row[2]))]
            found = [(row, _digest(database, row)) for row in rows]
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise OSError(f"not an OpenCode database: {error}") from error
    return [
        Listed(digest.id, store / digest.id, int(row[4]), 0, digest)
        for row, digest in found
        if digest.prompts
    ]


def _digest(database: sqlite3.Connection, row: tuple[Any, ...]) -> Digest:
    name, title, directory, created = str(row[0]), str(row[1] or ""), str(row[2]), int(row[3])
    digest = Digest(name, directory, name_of(title), started=created)
    for (data,) in database.execute(_PROMPTS, (name,)):
        text = str(data or "").strip()[:PROMPT_CHARS]
        digest.first, digest.last = digest.first or text, text or digest.last
        digest.prompts += 1
    for (data,) in database.execute(_ANSWER, (name,)):
        answer = foreign_object(data)
        told = part(answer.get("tokens"))
        cache = part(told.get("cache"))
        digest.context = count(told.get("input")) + count(cache.get("read")) + count(cache.get("write"))
        digest.spent[words(answer.get("modelID"))] = [0] * 5
    return digest


def export_of(path: Path) -> Json:
    """Return the session that this path names. Raises SessionCorrupt if the database or the session does not
    exist."""
    store, name = path.parent, path.name
    try:
        with closing(_opened(store)) as database:
            found = database.execute("SELECT * FROM session WHERE id = ?", (name,))
            columns = [column[0] for column in found.description]
            row = found.fetchone()
            if row is None:
                raise SessionCorrupt(path, 0, "no such session in this database")
            messages = database.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (name,)
            ).fetchall()
            parts = database.execute(
                "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY id", (name,)
            ).fetchall()
    except sqlite3.Error as error:
        raise SessionCorrupt(path, 0, f"not an OpenCode database: {error}") from error
    parts_of: dict[str, list[Json]] = {}
    for message, own, data in parts:
        parts_of.setdefault(message, []).append({"id": own, **foreign_object(data)})
    info = dict(zip(columns, row, strict=True))
    kept = {key: info[key] for key in ("title", "directory") if key in info}
    decoded = {
        key: foreign_object(info[key]) for key in ("model", "revert") if info.get(key)
    }  # not in older databases
    return {
        "info": {"id": name, **kept, **decoded, "time": {"created": info.get("time_created")}},
        "messages": [
            {"info": {"id": message, **foreign_object(data)}, "parts": parts_of.get(message, [])}
            for message, data in messages
        ],
    }


def _opened(store: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True, timeout=_BEFORE_OPENING)
