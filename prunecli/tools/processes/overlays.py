"""Mounts overlays for one command, in namespaces of its own: what it changes goes to another folder.

A sandbox can't do that by itself everywhere. So the supervisor's child does it, before it becomes the sandbox. As in
`supervise.py`, only built-in modules are imported.
"""

import errno
import posix
import sys

try:
    import _ctypes
except ImportError:
    _ctypes = None  # type: ignore[assignment]  # then no overlay can be mounted

_NEW_USERS, _NEW_MOUNTS = 0x10000000, 0x20000
_NO_ATIME = 1024
_FOLDER = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC
_OPTIONS = b"lowerdir=%b,upperdir=%b,workdir=%b,userxattr,volatile"
"""`userxattr` is what a namespace of users allows. `volatile` spares the sync of the whole disk at the end, so each
mount needs a new `workdir`."""


def enter(folders: list[bytes]) -> None:
    """Mount an overlay for each three paths: the folder that is covered, where changes go, and an empty one.

    Without access times, so that a file which was only copied keeps its own. Raises OSError.
    """
    if not folders:
        return
    user, group = posix.getuid(), posix.getgid()
    _call("unshare", _NEW_USERS | _NEW_MOUNTS)
    for name, text in (
        ("setgroups", b"deny"),
        ("uid_map", b"%d %d 1" % (user, user)),
        ("gid_map", b"%d %d 1" % (group, group)),
    ):
        file = posix.open(f"/proc/self/{name}", posix.O_WRONLY | posix.O_CLOEXEC)
        posix.write(file, text)
        posix.close(file)
    for at in range(0, len(folders), 3):
        # By descriptors: a path may contain commas and colons.
        opened = [posix.open(path, _FOLDER) for path in folders[at : at + 3]]
        paths = [b"/proc/self/fd/%d" % descriptor for descriptor in opened]
        _call("mount", b"prunecli", paths[0], b"overlay", _NO_ATIME, _OPTIONS % tuple(paths))
        for descriptor in opened:
            posix.close(descriptor)


def _call(name: str, *arguments: int | bytes) -> None:
    if _ctypes is None:
        raise OSError(errno.ENOSYS, name)
    address = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]
    if _ctypes.call_cdeclfunction(address, arguments) != 0:
        raise OSError(errno.EINVAL, name)  # the module can't tell the number


def main() -> None:
    """Mount the overlays and become the command: the arguments are the number of paths, the paths, the command."""
    count, words = (
        int(sys.argv[1]),
        [word.encode(sys.getfilesystemencoding(), "surrogateescape") for word in sys.argv[2:]],
    )
    try:
        enter(words[:count])
        posix.execve(words[count], words[count:], posix.environ)
    except OSError as error:
        posix.write(2, f"overlay: {error}\n".encode())
        posix._exit(126)
