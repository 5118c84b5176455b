"""The folders that sessions lie in: made for the user alone, and the names in them made durable.

A file that was synced is lost all the same where the name that leads to it was not.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path

UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP)
"""What a file system answers that can't sync such a thing: nothing can be done about it."""


def make_private(folder: Path) -> list[Path]:
    """Makes a folder and what is missing above it, for the user alone whatever the umask is.

    Gives the folders in which there is a new name now, the topmost first. Raises OSError.
    """
    if folder.is_dir():
        return []
    changed = make_private(folder.parent) if folder.parent != folder else []
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    return [*changed, folder.parent]


def sync_folder(folder: Path) -> None:
    """Makes new names in a folder durable, where the system lets it be opened and synced. May block.

    Raises OSError where the disk fails.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return  # it may be written and not read, or is gone: then the log is too, which is noticed there
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)
