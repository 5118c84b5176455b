"""Runs a command in bubblewrap: namespaces, bind mounts and a seccomp filter. Linux only; needs `bwrap` 0.4 or
newer."""

import os
from collections.abc import Sequence

from prunecli.frozen import frozen
from prunecli.sandbox.layout import Layout

_MEMORY = str(1 << 30)
"""Maximum bytes of a folder that is kept in memory."""


@frozen
class Stage:
    """prunecli's own folders and files, which are mounted over others.

    `tmp` is the private /tmp of the run. `folder` and `file` are empty and have mode 0000; `bare` and `empty` are an
    empty folder and file that can be read.
    """

    tmp: str
    folder: str
    file: str
    empty: str
    bare: str


def words(
    program: str,
    layout: Layout,
    stage: Stage,
    command: Sequence[str],
    *,
    cwd: str,
    network: bool,
    seccomp: str,
) -> list[str]:
    """Return the command in bubblewrap. `seccomp` is the descriptor with the filter.

    The order matters: later mounts cover earlier ones. --die-with-parent is not used, so that the supervisor can list
    leftover processes before it kills them, which it always does.
    """
    said = [
        program,
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    if not network:
        said.append("--unshare-net")
    said += ["--new-session", "--cap-drop", "ALL", "--seccomp", seccomp]
    # Root could change the system through a new /proc even without capabilities, so it is read-only.
    said += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
    said += ["--bind", stage.tmp, "/tmp"]  # noqa: S108
    for path in ("/var/tmp", "/run", "/dev/shm"):  # noqa: S108
        said += ["--size", _MEMORY, "--tmpfs", path]
    if layout.home:
        said += ["--tmpfs", layout.home]
    for path in layout.readable:
        said += ["--ro-bind-try", path, path]
    for path in layout.writable:
        said += ["--bind-try", path, path]
    for path, target in layout.links:
        said += ["--symlink", target, path]
    for path in (*layout.kept, *layout.reopened):
        said += _over(path, path, writable=path in layout.reopened)
    for path in layout.kept:
        if any(path.startswith(folder + "/") for folder in layout.reopened):
            said += _over(path, path, writable=False)
    for path in layout.missing:
        said += _over(stage.bare, path, writable=False)
    for path in layout.hidden:
        said += _over(stage.folder if os.path.isdir(path) else stage.file, path, writable=False)
    for path in layout.emptied:
        said += _over(stage.empty, path, writable=False)
    if layout.home:
        said += ["--remount-ro", layout.home]
    return [*said, "--chdir", cwd, "--", *command]


def _over(source: str, path: str, *, writable: bool) -> list[str]:
    return ["--bind" if writable else "--ro-bind", source, path]
