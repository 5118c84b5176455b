"""Lines from a file descriptor, one by one as they arrive.

A daemon thread reads, because asyncio can wait for pipes but not for files, and a blocked read must not delay the end
of the program.
"""

import asyncio
import os
import threading

MAX_LINE = 64_000_000
"""Maximum bytes of one line."""
_AHEAD = 32
"""Maximum lines to read in advance."""


class LineTooLong(Exception):
    """A line was longer than `MAX_LINE` and was skipped."""


class InputLines:
    """The lines of a descriptor. The thread starts with the first `next`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: asyncio.Queue[bytes | LineTooLong | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def next(self) -> bytes | None:
        """Return the next line without its line feed; None at the end. Raises LineTooLong, after which reading
        continues."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            threading.Thread(target=self._read, name="input", daemon=True).start()
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
            return None
        self._room.release()
        if isinstance(line, LineTooLong):
            raise line
        return line

    def _read(self) -> None:
        parts: list[bytes] = []
        size = 0
        while True:
            try:
                data = os.read(self._descriptor, 65_536)
            except OSError:
                data = b""
            *ends, rest = data.split(b"\n")
            for end in ends:
                parts.append(end)
                if not self._give(parts, size + len(end)):
                    return
                parts, size = [], 0
            size += len(rest)
            if size <= MAX_LINE:
                parts.append(rest)
            if not data:
                if size and not self._give(parts, size):
                    return
                self._put(None)
                return

    def _give(self, parts: list[bytes], size: int) -> bool:
        self._room.acquire()
        return self._put(b"".join(parts) if size <= MAX_LINE else LineTooLong())

    def _put(self, line: bytes | LineTooLong | None) -> bool:
        """Pass a line to the event loop; return False if the loop has ended."""
        try:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            return False
        return True
