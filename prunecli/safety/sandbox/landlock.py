"""Runs a command under Landlock and a seccomp filter, where bubblewrap can't run. Linux 6.12 or newer.

Landlock only grants rights, and a right on a folder applies to everything below it. So a folder with hidden or
protected content gets no rights itself, but each of its other entries does. This sandbox has costs. A command can't
create files in such a folder (the workspace's own, which has .git), read files created there meanwhile, or use /tmp
(TMPDIR names a private folder). Modes, owners and times can't be changed, and no socket can be opened while the
network is off: Landlock does not cover these, so the filter refuses them everywhere. Names of files are visible.
"""

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from prunecli.safety.sandbox.layout import CACHES, PRIVATE, Layout, lies_below
from prunecli.safety.sandbox.seccomp import filter_program
from prunecli.tools.processes.command import start_words

CREATE_RULESET = 444
"""The same number on every architecture."""
NEEDED_VERSION = 6
"""The version of Landlock that also confines signals."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
READ, WRITE = b"r", b"w"
_FAMILIES = (2, 10)
"""AF_INET and AF_INET6; AF_UNIX would reach the sockets of the system's services, which Landlock does not stop."""


def version() -> int:
    """Return the kernel's version of Landlock, 0 without it."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, 1)))


def words(orders: int, command: Sequence[str]) -> list[str]:
    """Return the command under Landlock; `orders` is the descriptor with the content of `orders_for`."""
    return [*start_words(str(Path(__file__).parent), "landlock_start"), str(orders), *command]


def orders_for(layout: Layout, tmp: str, *, network: bool) -> bytes:
    """Return the filter and the grants in the form that the start program reads: a length, the filter, then grants,
    each ended by NUL."""
    program = filter_program(sockets=_FAMILIES if network else (), metadata=False)
    grants = b"".join(kind + os.fsencode(path) + b"\0" for kind, path in granted(layout, tmp))
    return len(program).to_bytes(4, "little") + program + grants


def granted(layout: Layout, tmp: str) -> Iterator[tuple[bytes, str]]:
    """Yield the paths that may be read and run, and those that may also be written."""
    hidden = (*layout.hidden, *layout.emptied)
    shown = (*layout.readable, *layout.writable)
    home = (layout.home,) if layout.home else ()
    for path in ("/", *shown):
        for part in _around(path, (*hidden, *PRIVATE, *home) if path == "/" else hidden):
            yield READ, part
    kept = tuple(path for path in layout.kept if path not in layout.reopened)
    for path in (*layout.writable, *layout.reopened):
        closed = (*hidden, *kept, *layout.missing)
        for part in _around(path, closed):
            yield WRITE, part
    for path in (tmp, *_DEVICES):
        yield WRITE, path


def inner_environment(env: Mapping[str, str], tmp: str) -> dict[str, str]:
    """Return the environment inside, whose temporary files are in `tmp`."""
    moved = {name: f"{tmp}{value[4:]}" for name, value in env.items() if value.startswith("/tmp/")}  # noqa: S108
    drop = {} if "LC_CTYPE" in env else {"PRUNECLI_DROP_LC_CTYPE": "1"}
    caches = {name: moved[name] for name in (*CACHES, "XDG_CACHE_HOME") if name in moved}
    return {**env, **caches, **drop, "TMPDIR": tmp}


def _around(path: str, closed: Sequence[str]) -> Iterator[str]:
    """Yield the path, or if it contains something closed, its other entries."""
    if lies_below(path, closed):
        return
    if not any(lies_below(one, (path,)) for one in closed):
        yield path
        return
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not entry.is_symlink():
            yield from _around(entry.path, closed)
