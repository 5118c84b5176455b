"""Stores the output of a background command in files. Runs in the command's supervisor.

As in supervise.py, only built-in modules are imported. `background.py` reads the files.
"""

import posix


class Kept:
    """The output of a background command: its newest bytes, in at most two files of half the cap each.

    A file is named `out.OFFSET.LINES` after the bytes and lines before it. `pid` contains this process's id and is
    locked while it runs. `detached` exists if the command may outlive the program. In the end, `end` contains the
    wait status, -1 if the command was ended, and 1 if its time was up.
    """

    def __init__(self, folder: str, cap: int, size: int, lines: int) -> None:
        self.folder = folder
        self.half = max(1, cap // 2)
        self.size = size
        self.lines = lines
        self.files: list[str] = []
        self.file = -1
        self.room = 0
        self.lock = self.open("pid")
        posix.write(self.lock, b"%d" % posix.getpid())
        posix.lockf(self.lock, posix.F_LOCK, 0)

    def open(self, name: str) -> int:
        """Create a file that only this user can read."""
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_CLOEXEC
        return posix.open(f"{self.folder}/{name}", flags, 0o600)

    def add(self, data: bytes) -> None:
        """Write the next bytes. If the disk is full, they are lost and the command continues."""
        try:
            if self.room <= 0:
                self.turn()
            posix.write(self.file, data)
        except OSError:
            pass
        self.room -= len(data)
        self.size += len(data)
        self.lines += data.count(b"\n")

    def turn(self) -> None:
        """Begin a new file, and delete the one before the last."""
        name = f"out.{self.size}.{self.lines}"
        new = self.open(name)
        if self.file >= 0:
            posix.close(self.file)
        self.file, self.room = new, self.half
        self.files.append(name)
        if len(self.files) > 2:
            posix.unlink(f"{self.folder}/{self.files.pop(0)}")

    def end(self, status: int, timed_out: bool) -> None:
        """Record how the command ended."""
        self.note("end", b"%d %d" % (status, timed_out))

    def note(self, name: str, data: bytes) -> None:
        """Create a file with this content, completely or not at all."""
        try:
            posix.write(self.open(f"{name}.new"), data)
            posix.rename(f"{self.folder}/{name}.new", f"{self.folder}/{name}")
        except OSError:
            pass  # the program will notice that this process is gone
