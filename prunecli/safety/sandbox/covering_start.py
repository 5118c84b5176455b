"""Mounts /dev/null on files inside a running sandbox. Run by its own interpreter, never imported.

Arguments: the id of a process inside, then the files.
"""

import ctypes
import fcntl
import os
import sys

_BIND, _OWNER = 4096, 0xB701


def main() -> None:
    """Enter the mount namespace, by the users' namespace that owns it, and cover each file that is there."""
    library = ctypes.CDLL(None, use_errno=True)
    mounts = os.open(f"/proc/{sys.argv[1]}/ns/mnt", os.O_RDONLY)
    # bubblewrap may run the command in a namespace of users below the one that owns the mounts.
    for namespace in (fcntl.ioctl(mounts, _OWNER), mounts):
        if library.setns(namespace, 0) < 0:
            sys.exit(os.strerror(ctypes.get_errno()))
    for path in sys.argv[2:]:
        library.mount(b"/dev/null", os.fsencode(path), None, _BIND, None)
