"""What can be done to a session that is not open: a name, and a way out of the lists that loses nothing."""

import os
from collections.abc import Callable
from pathlib import Path

from prunecli.errors import SessionNotFound, StorageFailed
from prunecli.model.events import Record, SettingChanged
from prunecli.session.clock import Clock, next_timestamp
from prunecli.session.loading import last_record
from prunecli.session.running import SUFFIX
from prunecli.session.writer import LogWriter


def rename(path: Path, name: str, clock: Clock, open_log: Callable[[Path], LogWriter] = LogWriter) -> None:
    """Gives a session another name: one record at its end, under its lock.

    Raises SessionLocked where another process has it open, SessionNotFound, StorageFailed.
    """
    log = _locked(path, open_log)
    try:
        last = last_record(path)
        if last is None:
            raise SessionNotFound(
                f"{path} holds no record to go on from", "prunecli sessions verify says why"
            )
        event = SettingChanged("session.name", name)
        log.append(Record(last.seq + 1, next_timestamp(clock(), last.timestamp), event))
        log.commit()
    except OSError as error:
        raise StorageFailed(f"{path}: {error.strerror}", "check the disk") from error
    finally:
        log.close()


def remove(path: Path, open_log: Callable[[Path], LogWriter] = LogWriter) -> None:
    """Deletes a session's file for good, and the output of a call that was running. Blobs stay: other sessions may
    name them too.

    Raises SessionLocked where another process has it open, SessionNotFound, StorageFailed.
    """
    log = _locked(path, open_log)
    try:
        path.unlink()
        path.with_suffix(SUFFIX).unlink(missing_ok=True)
    except OSError as error:
        raise StorageFailed(f"{path}: {error.strerror}", "the session stays where it is") from error
    finally:
        log.close()


def to_trash(
    path: Path, trash: Path, clock: Clock, open_log: Callable[[Path], LogWriter] = LogWriter
) -> Path:
    """Moves a session's file into a folder of its own; its new place. Moved back it is a session again: its blobs
    stay where they are.

    Raises SessionLocked where another process has it open, SessionNotFound, StorageFailed.
    """
    log = _locked(path, open_log)
    place = trash / path.parent.name / f"{path.stem}.{clock()}.jsonl"
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.rename(path, place)
    except OSError as error:
        raise StorageFailed(f"{path}: {error.strerror}", "the session stays where it was") from error
    finally:
        log.close()
    return place


def _locked(path: Path, open_log: Callable[[Path], LogWriter]) -> LogWriter:
    """The file under its lock, where it is there."""
    if not path.is_file():
        raise SessionNotFound(f"{path} is not there any more")
    return open_log(path)
