"""Makes the names of sessions durable.

Syncing a file does not sync its name: until its folder is synced too, a power cut can lose the file.
"""

import os
from collections.abc import Callable
from pathlib import Path

from prunecli.file_systems import sync_file


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
