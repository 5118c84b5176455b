"""The paths of the system's Unix sockets, which a sandboxed command must not reach.

The kernel lists a socket by the path that it was bound to. A relative path does not show its folder, so the working
folders of all processes are tried. A service that left that folder since is hidden with the home folder.
"""

import os
import stat
from collections.abc import Iterator

TABLE = "/proc/net/unix"


def unix_sockets(table: str = TABLE) -> Iterator[str]:
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


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
