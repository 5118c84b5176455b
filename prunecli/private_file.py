"""Writes files that only the user can read, completely or not at all."""

import os
from contextlib import suppress
from pathlib import Path


def write_private(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Write a file of mode 0600, replacing an earlier one. `sync` waits until the disk has its content.

    Raises OSError and leaves nothing behind; only a crash may leave `NAME.PID.part` beside the file.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(part, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(descriptor)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
