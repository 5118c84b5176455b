"""Reads sessions from OpenCode's database, in the form that `opencode export` prints.

The database is opened read-only. A session's path treats the database as a folder: `opencode.db/ses_123`. OpenCode 2
has tables of its own (`session_v2`, `session_message`; see `_exported`) and leaves those of 1.x as they were.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from prunecli.model.codec import foreign_object
from prunecli.model.messages import Json
from prunecli.session.digest import PROMPT_CHARS, Digest
from prunecli.session.importers.opencode import SHELL, name_of
from prunecli.session.importers.transcript import count, part, words
from prunecli.session.store import Listed
from prunecli.util.errors import SessionCorrupt

_BEFORE_OPENING = 2.0
"""Seconds to wait for OpenCode while it writes."""


class _Tables(NamedTuple):
    """The tables of one version: of sessions, and queries for the prompts and the last answer of a session."""

    sessions: str
    prompts: str
    answer: str


_NEW = _Tables(
    "session_v2",
    """
    SELECT json_extract(data, '$.text') FROM session_message
    WHERE session_id = ? AND type = 'user' AND json_valid(data) ORDER BY seq
    """,
    """
    SELECT data FROM session_message WHERE session_id = ? AND type = 'assistant' AND json_valid(data)
    ORDER BY seq DESC LIMIT 1
    """,
)
_OLD = _Tables(
    "session",
    """
    SELECT group_concat(json_extract(part.data, '$.text'), char(10))
    FROM message JOIN part ON part.message_id = message.id
    WHERE message.session_id = ? AND json_valid(message.data) AND json_valid(part.data)
    AND json_extract(message.data, '$.role') = 'user' AND json_extract(part.data, '$.type') = 'text'
    AND json_extract(part.data, '$.synthetic') IS NOT 1
    GROUP BY message.id ORDER BY message.time_created, message.id
    """,
    """
    SELECT data FROM message WHERE session_id = ? AND json_valid(data) AND json_extract(data, '$.role') = 'assistant'
    ORDER BY time_created DESC, id DESC LIMIT 1
    """,
)


def in_store(path: Path) -> bool:
    return path.parent.suffix == ".db" and os.path.isfile(path.parent)


def sessions_in_store(store: Path) -> list[tuple[int, Path]]:
    """Return the sessions of a database with the times of their last changes, without those of subagents.

    Raises OSError if the file is not an OpenCode database or cannot be read.
    """
    try:
        with closing(_opened(store)) as database:
            return [(int(row[4]), store / str(row[0])) for _, row in _rows(database)]
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise OSError(f"not an OpenCode database: {error}") from error


def digests_in_store(store: Path, is_here: Callable[[str], bool]) -> list[Listed]:
    """Return the sessions of the directories that `is_here` accepts, with the facts for a list. Raises OSError if the
    file is not an OpenCode database."""
    try:
        with closing(_opened(store)) as database:
            rows = [(tables, row) for tables, row in _rows(database) if is_here(str(row[2]))]
            found = [(row, _digest(database, tables, row)) for tables, row in rows]
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise OSError(f"not an OpenCode database: {error}") from error
    return [
        Listed(digest.id, store / digest.id, int(row[4]), 0, digest)
        for row, digest in found
        if digest.prompts
    ]


def _tables(database: sqlite3.Connection) -> Sequence[_Tables]:
    """Return the tables that a database has, the newer ones first."""
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    tables = [tables for tables in (_NEW, _OLD) if tables.sessions in names]
    if not tables:
        raise sqlite3.DatabaseError("no table of sessions that this version of prunecli knows")
    return tables


def _rows(database: sqlite3.Connection) -> list[tuple[_Tables, tuple[Any, ...]]]:
    """Return id, title, directory and times of each session. An id becomes a path, so others are left out."""
    rows: dict[str, tuple[_Tables, tuple[Any, ...]]] = {}
    for tables in _tables(database):
        query = (
            f"SELECT id, title, directory, time_created, time_updated FROM {tables.sessions} "  # noqa: S608
            "WHERE parent_id IS NULL AND id NOT GLOB '*[^A-Za-z0-9_-]*' AND id <> ''"
        )
        for row in database.execute(query):
            rows.setdefault(str(row[0]), (tables, row))
    return list(rows.values())


def _digest(database: sqlite3.Connection, tables: _Tables, row: tuple[Any, ...]) -> Digest:
    name, title, directory, created = str(row[0]), str(row[1] or ""), str(row[2]), int(row[3])
    digest = Digest(name, directory, name_of(title), started=created)
    for (data,) in database.execute(tables.prompts, (name,)):
        text = str(data or "").strip()[:PROMPT_CHARS]
        digest.first, digest.last = digest.first or text, text or digest.last
        digest.prompts += 1
    for (data,) in database.execute(tables.answer, (name,)):
        answer = foreign_object(data)
        told = part(answer.get("tokens"))
        cache = part(told.get("cache"))
        digest.context = count(told.get("input")) + count(cache.get("read")) + count(cache.get("write"))
        digest.spent[words(answer.get("modelID") or part(answer.get("model")).get("id"))] = [0] * 5
    return digest


def export_of(path: Path) -> Json:
    """Return the session that this path names. Raises SessionCorrupt if the database or the session does not
    exist."""
    store, name = path.parent, path.name
    try:
        with closing(_opened(store)) as database:
            for tables in _tables(database):
                found = database.execute(f"SELECT * FROM {tables.sessions} WHERE id = ?", (name,))  # noqa: S608
                columns = [column[0] for column in found.description]
                if row := found.fetchone():
                    messages = _messages(database, tables, name)
                    return {"info": _info(dict(zip(columns, row, strict=True))), "messages": messages}
    except sqlite3.Error as error:
        raise SessionCorrupt(path, 0, f"not an OpenCode database: {error}") from error
    raise SessionCorrupt(path, 0, "no such session in this database")


def _info(row: dict[str, Json]) -> dict[str, Json]:
    kept = {key: row[key] for key in ("id", "title", "directory") if row.get(key)}
    decoded = {
        key: foreign_object(row[key]) for key in ("model", "revert") if row.get(key)
    }  # not in older databases
    return {**kept, **decoded, "time": {"created": row.get("time_created")}}


def _messages(database: sqlite3.Connection, tables: _Tables, name: str) -> list[Json]:
    if tables is _NEW:
        query = "SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq, id"
        return [
            _exported(own, kind, foreign_object(data)) for own, kind, data in database.execute(query, (name,))
        ]
    parts_of: dict[str, list[Json]] = {}
    query = "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY id"
    for message, own, data in database.execute(query, (name,)):
        parts_of.setdefault(message, []).append({"id": own, **foreign_object(data)})
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    return [
        {"info": {"id": message, **foreign_object(data)}, "parts": parts_of.get(message, [])}
        for message, data in database.execute(query, (name,))
    ]


def _opened(store: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True, timeout=_BEFORE_OPENING)


def _exported(own: str, kind: str, data: Mapping[str, Json]) -> Json:
    """Return a message of OpenCode 2 in the form of its export: `info`, and `parts` with the content. `kind` is the
    type of its row: user, assistant, synthetic, shell, compaction and others."""
    info: dict[str, Json] = {"id": own, "time": data.get("time")}
    match kind:
        case "user":
            text = {"type": "text", "text": words(data.get("text"))}
            return {"info": {**info, "role": "user"}, "parts": [text, *map(_file, _list(data.get("files")))]}
        case "synthetic":
            note: dict[str, Json] = {"type": "text", "text": words(data.get("text")), "synthetic": True}
            return {"info": {**info, "role": "user"}, "parts": [note]}
        case "compaction":
            said = "\n\n".join(filter(None, (words(data.get("summary")), words(data.get("include")))))
            summary = {"type": "text", "text": said}
            return {"info": {**info, "role": "assistant", "summary": True}, "parts": [summary]}
        case "assistant":
            model = words(part(data.get("model")).get("id"))
            told = {key: data.get(key) for key in ("tokens", "finish")}
            parts = [_content(part(one)) for one in _list(data.get("content"))]
            return {"info": {**info, "role": "assistant", "modelID": model, **told}, "parts": parts}
        case "shell":
            text = {"command": words(data.get("command")), "output": words(data.get("output"))}
            return {"info": {**info, "role": SHELL}, "parts": [text]}
        case _:
            return {"info": {**info, "role": kind}, "parts": []}


def _content(one: Mapping[str, Json]) -> Json:
    if one.get("type") != "tool":
        return dict(one)
    state, times = part(one.get("state")), part(one.get("time"))
    pieces = [part(piece) for piece in _list(state.get("content"))]
    texts = [words(piece.get("text")) for piece in pieces if piece.get("type") == "text"]
    files = [_file(piece) for piece in (*pieces, *_list(state.get("attachments"))) if _is_file(piece)]
    given, error = state.get("input"), state.get("error")
    return {
        "type": "tool",
        "callID": one.get("id") or one.get("callID"),
        "tool": one.get("name"),
        "state": {
            "status": state.get("status"),
            "input": given if isinstance(given, dict) else {},
            "output": words(state.get("output")) or "\n".join(texts),
            "error": words(error) or words(part(error).get("message")) or "\n".join(texts),
            "metadata": part(state.get("structured")) or part(state.get("metadata")),
            "attachments": files,
            "time": {"end": times.get("completed"), "compacted": times.get("pruned")},
        },
    }


def _is_file(given: Json) -> bool:
    return part(given).get("type") != "text" and bool(part(given).get("mime"))


def _file(given: Json) -> Json:
    file = part(given)
    return {"type": "file", "mime": file.get("mime"), "url": file.get("url") or file.get("uri")}


def _list(given: Json) -> list[Json]:
    return given if isinstance(given, list) else []
