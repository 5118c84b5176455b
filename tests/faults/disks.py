"""Disks that fail: seams of the log's writer, and a real small file system where the machine lets us mount one."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prunecli.session.writer import LogWriter


class Disk:
    """A disk whose n-th write or sync fails, and every later one until it is `repaired`. Counts from 1; 0 is never.

    A failing write first writes `torn` bytes of what it was given; it fails with `code`, or as writes to `device` do.
    """

    def __init__(
        self, *, write: int = 0, sync: int = 0, code: int = errno.ENOSPC, torn: int = 0, device: int = -1
    ) -> None:
        self.fails_at = {"write": write, "sync": sync}
        self.code = code
        self.torn = torn
        self.device = device
        self.counts = {"write": 0, "sync": 0}
        self.failing = ""
        self.failures = 0

    def _turn(self, what: str) -> bool:
        self.counts[what] += 1
        if self.counts[what] == self.fails_at[what]:
            self.failing = what
        self.failures += self.failing == what
        return self.failing == what

    def write(self, descriptor: int, data: bytes) -> int:
        if self._turn("write"):
            if self.torn and self.failures == 1:
                self.failures += 1
                return os.write(descriptor, data[: self.torn])
            if self.device >= 0:
                return os.write(self.device, data)
            raise OSError(self.code, os.strerror(self.code))
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        if self._turn("sync"):
            raise OSError(self.code, os.strerror(self.code))

    def open_log(self, path: Path) -> LogWriter:
        return LogWriter(path, sync=self.sync, write=self.write)

    def repaired(self) -> None:
        self.failing = ""
        self.fails_at = {"write": 0, "sync": 0}


def can_mount() -> bool:
    """Whether a small file system can be had here."""
    return os.geteuid() == 0 and shutil.which("mount") is not None and os.path.isdir("/proc/1")


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of this size at a folder."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)], check=False
    )
    if mounted.returncode:
        raise PermissionError("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def enlarge(folder: Path, size: str) -> None:
    """More space on a small disk."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)
