"""Saves an imported conversation as a session in the store, ready to be resumed.

The session id is derived from the original's, so that a second import finds the first instead of copying it. An
original that has grown since is imported as a separate session, whose id depends on its content. The first import
stays unchanged, with all later work in it.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from prunecli.model.events import Event, Record, SessionStarted, SettingChanged
from prunecli.model.messages import Json
from prunecli.model.record_codec import encode_record
from prunecli.model.requests import IMPORTED
from prunecli.session.blobs import Blobs
from prunecli.session.digest import whole_record
from prunecli.session.importers.source import Source
from prunecli.session.store import UNFINISHED, Store, new_id
from prunecli.session.writer import LogWriter
from prunecli.util.errors import PrunecliError
from prunecli.util.frozen import frozen
from prunecli.util.regular import open_regular

_BATCH = 1_000
"""Records per commit; the writer holds uncommitted records in memory."""


@frozen
class SavedSession:
    """A saved session.

    `made` is False if it existed before. `outgrown` is the earlier import of a session that has changed since, or "".
    """

    id: str
    path: Path
    made: bool = True
    outgrown: str = ""


def save(
    source: Source,
    store: Store,
    here: Path,
    *,
    branches: bool = False,
    again: bytes = b"",
    moved: bool = False,
) -> tuple[SavedSession, ...]:
    """Save the main line and, on request, each other branch as a fork of it.

    A session belongs to its original directory, or to `here` if it is `moved` or that directory does not exist on
    this machine. `again` (three random bytes) makes another copy. Raises StorageFailed and OSError.
    """
    told = source.imported.origin.cwd
    cwd = here if moved or not (os.path.isabs(told) and os.path.isdir(told)) else Path(told)
    main = _save(source, source.records, store, cwd, again, None)
    made = [main]
    for branch in source.branches if branches else ():
        parent = {"id": main.id, "seq": branch.common}
        made.append(_save(source, branch.records, store, cwd, again, parent))
    return tuple(made)


def _save(
    source: Source,
    records: Sequence[Record],
    store: Store,
    cwd: Path,
    again: bytes,
    parent: dict[str, Json] | None,
) -> SavedSession:
    origin, outgrown = source.imported.origin, ""
    began = origin.started or (records[0].timestamp if records else 0)
    content = _content_of(records)
    session_id = new_id(began, again or _fingerprint(source, records))
    found = _file_of(store, session_id)
    if found is not None and _imported_content(found) not in ("", content):
        outgrown, session_id = found.stem, new_id(began, bytes.fromhex(content[:6]))
        found = _file_of(store, session_id)
    if found is not None:
        return SavedSession(session_id, found, made=False)
    path = store.new_path(cwd, session_id)
    started = SessionStarted(session_id, str(cwd), origin.model, parent=parent)
    own = records[0].event if source.native and records else None
    if isinstance(own, SessionStarted):
        started = replace(started, version=own.version, requires=own.requires, parent=parent or own.parent)
    settings: list[Event] = [SettingChanged(IMPORTED, {**origin.to_json(), "sha256": content})]
    if origin.name:
        name = store.free_name(origin.name) if parent or again or outgrown else origin.name
        settings.append(SettingChanged("session.name", name))
    _write(path, list(_with_head(started, records, settings)))
    return SavedSession(session_id, path, outgrown=outgrown)


def _file_of(store: Store, session_id: str) -> Path | None:
    return next(store.root.glob(f"*/{session_id}.jsonl"), None)


def _content_of(records: Iterable[Record]) -> str:
    """Return the digest of a conversation as it was read, to detect changes in the original."""
    digest = sha256()
    for record in records:
        digest.update(encode_record(record))
    return digest.hexdigest()


def _imported_content(path: Path) -> str:
    """Return the digest that an earlier import was saved with; "" if there is none or the file cannot be read."""
    needle = f'"key":"{IMPORTED}"'.encode()
    try:
        with open_regular(path) as file:
            record = next(filter(None, (whole_record(line) for line in file if needle in line)), None)
    except OSError:
        return ""
    value = record.event.value if record and isinstance(record.event, SettingChanged) else None
    return str(value.get("sha256") or "") if isinstance(value, dict) else ""


def _with_head(
    started: SessionStarted, records: Sequence[Record], settings: Iterable[Event]
) -> Iterator[Record]:
    """Yield the records with the session's own first record, dense seqs, and the import's settings at the end."""
    first = records[0].timestamp if records else 0
    yield Record(0, first, started)
    if records and isinstance(records[0].event, SessionStarted):
        records = records[1:]
    elif records and records[0].seq == 0:
        records = [Record(record.seq + 1, record.timestamp + 1, record.event) for record in records]
    yield from records
    last = records[-1] if records else Record(0, first, started)
    for number, event in enumerate(settings, 1):
        yield Record(last.seq + number, last.timestamp + number, event)


def _write(path: Path, records: Sequence[Record]) -> None:
    """Write a new session file. The file gets its name when it is complete; a failure leaves nothing behind.

    Raises StorageFailed.
    """
    begun = path.with_suffix(UNFINISHED)
    with suppress(OSError):  # the writer reports problems with the folder
        begun.unlink()  # left over from a killed import
    log = LogWriter(begun)
    blobs = Blobs(path.parent / "blobs")
    try:
        for start in range(0, len(records), _BATCH):
            for record in records[start : start + _BATCH]:
                stored = blobs.stored(record.event)
                kept = stored is record.event
                log.append(record if kept else Record(record.seq, record.timestamp, stored))
            blobs.commit()
            log.commit()
        log.move_to(path)
    except PrunecliError:
        log.path.unlink(missing_ok=True)
        raise
    finally:
        log.close()


def _fingerprint(source: Source, records: Sequence[Record]) -> bytes:
    """Return three bytes: equal for imports of the same line, almost always different for others."""
    origin = source.imported.origin
    digest = sha256(f"{origin.kind}\0{origin.id}\0{origin.started}".encode())
    for record in records[1:]:
        if not origin.id or records is not source.records:
            digest.update(encode_record(record))
    return digest.digest()[:3]
