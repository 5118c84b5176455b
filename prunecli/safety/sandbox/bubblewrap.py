"""Runs a command in bubblewrap: namespaces, bind mounts and a seccomp filter. Linux only; needs `bwrap` 0.4 or
newer."""

import os
from collections.abc import Mapping, Sequence

from prunecli.safety.sandbox.layout import Layout
from prunecli.safety.sandbox.placeholders import FILES
from prunecli.util.frozen import frozen

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
    sources: Mapping[str, int] = {},
    held: int | None = None,
    fresh: Mapping[str, str] = {},
    info: int | None = None,
) -> list[str]:
    """Return the command in bubblewrap.

    `seccomp` is the descriptor with the filter, and `held` one that stays open as long as the sandbox. `sources` are
    the descriptors of folders to reopen that another command might move. `fresh` are writable folders that stand for
    missing ones. `info` is the descriptor that gets the id of a process inside.

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
    if held is not None:
        said += ["--sync-fd", str(held)]
    if info is not None:
        said += ["--info-fd", str(info)]
    # Root could change the system through a new /proc even without capabilities, so it is read-only.
    said += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
    said += ["--bind", stage.tmp, "/tmp"]  # noqa: S108
    for path in ("/var/tmp", "/run", "/dev/shm"):  # noqa: S108
        said += ["--size", _MEMORY, "--tmpfs", path]
    said += _mounts(layout, stage, sources, fresh)
    return [*said, "--chdir", cwd, "--", *command]


def _mounts(layout: Layout, stage: Stage, sources: Mapping[str, int], fresh: Mapping[str, str]) -> list[str]:
    said = _shown(layout)
    for path in layout.kept:
        said += _over(path, path)
    for path in layout.reopened:
        source = ("--bind-fd", str(sources[path])) if path in sources else ("--bind", path)
        said += [*source, path]
    for path in layout.kept:
        if any(path.startswith(folder + "/") for folder in layout.reopened):
            said += _over(path, path)
    for path in layout.missing:
        if path in fresh:
            said += ["--bind", fresh[path], path]
        else:
            said += _over(path if os.path.basename(path) in FILES else stage.bare, path)
    for path in layout.hidden:
        said += _over(stage.folder if os.path.isdir(path) else stage.file, path)
    for path in layout.emptied:
        said += _over(stage.empty, path)
    if layout.home:
        said += ["--remount-ro", layout.home]
    return said


def _shown(layout: Layout) -> list[str]:
    """Return the words that hide the home folder, and mount what is shown."""
    said = ["--tmpfs", layout.home] if layout.home else []
    for path in layout.readable:
        said += ["--ro-bind-try", path, path]
    for path in layout.writable:
        said += ["--bind-try", path, path]
    for path, target in layout.links:
        said += ["--symlink", target, path]
    return said


def _over(source: str, path: str) -> list[str]:
    return ["--ro-bind", source, path]
