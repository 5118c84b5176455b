"""Creates the folders of sessions: private to the user, with durable names.

Syncing a file does not sync its name: until its folder is synced too, a power cut can lose the file.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from prunecli.file_systems import sync_file


def make_private(folder: Path) -> list[Path]:
    """Create a folder and its missing parents, private to the user regardless of the umask.

    Returns the folders that got a new name, topmost first. Raises OSError.
    """
    if folder.is_dir():
        return []
    changed = make_private(folder.parent) if folder.parent != folder else []
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    return [*changed, folder.parent]


def sync_folder(folder: Path, sync: Callable[[int], None] = os.fsync) -> None:
    """Make new names in a folder durable if the system supports it. May block. Tests may replace `sync`.

    Raises OSError if the disk fails.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return  # write-only, or deleted along with the log, which reports that
    try:
        sync_file(descriptor, sync)
    finally:
        os.close(descriptor)
