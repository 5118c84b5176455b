"""Changes to a session that is not open: rename, remove, move to the trash."""

import os
from glob import escape
from pathlib import Path

from prunecli.model.events import Record, SettingChanged
from prunecli.session.completing import Clock, next_timestamp
from prunecli.session.loading import last_record
from prunecli.session.running_call import SUFFIX
from prunecli.session.writer import LogWriter
from prunecli.util.errors import SessionNotFound, StorageFailed
from prunecli.util.private_file import make_private


def rename(path: Path, name: str, clock: Clock) -> None:
    """Rename a session: append one record while holding its lock.

    Raises SessionLocked if another process has it open, SessionNotFound and StorageFailed.
    """
    log = _locked(path)
    try:
        last = last_record(path)
        if last is None:
            raise SessionNotFound(f"{path} has no usable record", "run `prunecli sessions verify` to see why")
        event = SettingChanged("session.name", name)
        log.append(Record(last.seq + 1, next_timestamp(clock(), last.timestamp), event))
        log.commit()
    except OSError as error:
        raise StorageFailed(f"{path}: {error.strerror}", "check the disk") from error
    finally:
        log.close()


def remove(path: Path) -> None:
    """Permanently delete a session's file, the files of its tasks, and the saved output of running calls.

    Blobs stay, since other sessions may refer to them.

    Raises SessionLocked if another process has it open, SessionNotFound and StorageFailed.
    """
    log = _locked(path)
    try:
        for one in (*tasks_of(path), path):
            one.unlink()
            one.with_suffix(SUFFIX).unlink(missing_ok=True)
    except OSError as error:
        raise StorageFailed(f"{path}: {error.strerror}", "the session was not deleted") from error
    finally:
        log.close()


def tasks_of(path: Path) -> list[Path]:
    """Return the files of a session's tasks, which are removed with it."""
    return sorted(
        one for one in path.parent.glob(f"{escape(path.stem)}-t[0-9]*.jsonl") if os.path.isfile(one)
    )


def to_trash(path: Path, trash: Path, clock: Clock) -> Path:
    """Move a session's file and those of its tasks to the trash folder, and return the session's new path.

    Its blobs stay, so moving the file back restores the session.

    Raises SessionLocked if another process has it open, SessionNotFound and StorageFailed.
    """
    log = _locked(path)
    place = trash / path.parent.name / f"{path.stem}.{clock()}.jsonl"
    try:
        make_private(place.parent)
        os.rename(path, place)
        for task in tasks_of(path):
            os.rename(task, place.with_name(f"{task.stem}.{clock()}.jsonl"))
    except OSError as error:
        raise StorageFailed(f"{path}: {error.strerror}", "the session was not moved") from error
    finally:
        log.close()
    return place


def _locked(path: Path) -> LogWriter:
    """Lock the session's file. Raises SessionNotFound if it no longer exists."""
    if not os.path.isfile(path):
        raise SessionNotFound(f"{path} no longer exists")
    return LogWriter(path)
