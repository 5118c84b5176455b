"""Finds the process that holds the lock on a session file, to name it in errors."""

import os
from collections.abc import Iterator
from pathlib import Path

_TABLE = Path("/proc/locks")


def lock_holder(path: Path) -> int | None:
    """Return the process that holds the lock on a file, or None where the system does not report it (outside Linux).

    /proc/locks names the process that took the lock. If that process is gone, a child of it has kept the file open,
    so search the visible processes for it.
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
    """Return whether the process exists and has not ended. A zombie holds no lock."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def _keeper(state: os.stat_result) -> int | None:
    """Return a process other than this one that has the file open."""
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            for entry in os.scandir(f"/proc/{name}/fd"):
                if os.path.samestat(entry.stat(), state):
                    return int(name)
        except OSError:
            continue  # the process ended, or belongs to another user
    return None
