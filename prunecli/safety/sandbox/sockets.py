"""The paths of the system's Unix sockets, which a sandboxed command must not reach.

The kernel lists a socket by the path that it was bound to. A relative path does not show its folder, so the working
folders of all processes are tried. The home folder is searched too, because a service may have changed its folder
after it made the socket.
"""

import os
import stat
from collections.abc import Iterable, Iterator

TABLE = "/proc/net/unix"
MAX_DEPTH = 4
MAX_ENTRIES = 20_000
"""Limits of depth and entries for searching the home folder. It is searched only if the table has a relative path, so
most commands do not wait for it."""


def unix_sockets(home: str = "", table: str = TABLE) -> Iterator[str]:
    """Yield the system's sockets that have a path. Sockets with a relative path are included if they are found."""
    relative = set[str]()
    for path in _bound(table):
        if not path.startswith("/"):
            relative.add(path)
        elif os.path.lexists(path):
            yield os.path.realpath(path)
    for folder in _working_folders() if relative else ():
        for path in tuple(relative):
            found = os.path.join(folder, path)
            if _is_socket(found):
                yield os.path.realpath(found)
    if relative and home:
        names = {os.path.basename(path) for path in relative}
        yield from (
            os.path.realpath(path) for path in _sockets_below(home) if os.path.basename(path) in names
        )


def _bound(table: str) -> Iterator[str]:
    """Yield the paths in the kernel's table, without abstract names, which begin with @."""
    try:
        with open(table, encoding="utf-8", errors="surrogateescape") as file:
            next(file, None)
            for line in file:
                _, slash, rest = line.rstrip("\n").partition(" /")
                parts = line.rstrip("\n").split(None, 7)
                if slash:
                    yield f"/{rest}"
                elif len(parts) == 8 and not parts[7].startswith("@"):
                    yield parts[7]
    except OSError:
        return


def _working_folders() -> set[str]:
    """Return the working folders of the visible processes."""
    found = set[str]()
    try:
        processes = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return found
    for process in processes:
        try:
            found.add(os.readlink(f"/proc/{process}/cwd"))
        except OSError:
            continue  # the process has ended, or belongs to another user
    return found


def _sockets_below(home: str) -> Iterable[str]:
    """Yield the sockets in the home folder, within bounds, those near its top first."""
    folders, left = [(home, 0)], MAX_ENTRIES
    for folder, depth in folders:  # grows during the loop
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        if depth < MAX_DEPTH:
                            folders.append((entry.path, depth + 1))
                    elif not entry.is_file(follow_symlinks=False) and _is_socket(entry.path):
                        yield entry.path
        except OSError:
            continue


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
