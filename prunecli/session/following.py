"""A session that is open to view here while another program writes it."""

from contextlib import suppress

from prunecli.model.events import Record
from prunecli.session.lines import record_lines
from prunecli.session.log import Loaded, take_line
from prunecli.session.session import Session
from prunecli.util.errors import StorageFailed
from prunecli.util.regular import open_regular


def follow(session: Session) -> None:
    """Take the whole lines that were added to its file, and tell the readers. Does nothing for a session that is
    written here, and while the file can't be read."""
    with suppress(OSError):
        if not session.read_only or not session.path or session.path.stat().st_size <= session.read_to:
            return
        loaded = Loaded(session.records[-1:])
        with open_regular(session.path) as file:
            file.seek(session.read_to)
            for line in record_lines(file):
                if not line.endswith(b"\n"):
                    break
                session.read_to += len(line)
                take_line(loaded, line)
        for record in session.take(loaded.records[1:]):
            session.tell(record)


def followed_to(session: Session, seq: int) -> Record:
    """Return the record of this seq, which the other program has just written. Raises StorageFailed."""
    follow(session)
    for record in reversed(session.records):
        if record.seq == seq:
            return record
    raise StorageFailed(f"record {seq} is not in {session.path}", "the session may go on in another file")
