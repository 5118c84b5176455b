"""Who holds the lock on a session file, so that a refusal can name a process (LOG-11, LOG-13)."""

import os
from collections.abc import Iterator
from pathlib import Path

_TABLE = Path("/proc/locks")


def lock_holder(path: Path) -> int | None:
    """The process that holds the lock on a file, where the system tells (Linux), else None.

    The system's table names who took the lock. Where that process is gone a child of it has kept the file open:
    then the child is looked for among the processes that one may look at.
    """
    try:
        state = os.stat(path)
        table = _TABLE.read_text("ascii")
    except OSError:
        return None
    for row in _rows(table):
        if (
            row[-3].rsplit(":", 1)[-1] == str(state.st_ino)
            and row[1] == "FLOCK"
            and row[4].lstrip("-").isdigit()
        ):
            taker = int(row[4])
            return taker if taker > 0 and _alive(taker) else _keeper(state)
    return None


def _rows(table: str) -> Iterator[list[str]]:
    for line in table.splitlines():
        row = line.split()
        if len(row) >= 8 and "->" not in row:
            yield row


def _alive(pid: int) -> bool:
    """Whether there is such a process and it has not ended (one that nobody waited for holds nothing)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def _keeper(state: os.stat_result) -> int | None:
    """A process other than this one that has the file open."""
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            for entry in os.scandir(f"/proc/{name}/fd"):
                if os.path.samestat(entry.stat(), state):
                    return int(name)
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
    return None
