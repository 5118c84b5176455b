"""Keeps the beginning and the end of a command's output, so that memory stays bounded."""

from prunecli.tools.files.decoding import (
    decoded,
    first_bytes,
    fitting_end,
    fitting_start,
    is_text,
    last_bytes,
)

LATEST_BYTES = 8_192
LATEST_LINES = 20


class HeadAndTail:
    """The first and last bytes of a stream, `limit` in total, its length, and its lines."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self.lines = 0
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        self.total += len(data)
        self.lines += data.count(b"\n")
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._half :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def raw(self) -> bytes:
        return bytes(self._head + self._tail[-self._half :])

    @property
    def newest(self) -> bytes:
        """The kept bytes without a gap: all of them, or only the last ones."""
        return self.raw if len(self.raw) == self.total else bytes(self._tail[-self._half :])

    @property
    def is_text(self) -> bool:
        kept = self.raw
        if len(kept) == self.total:
            return is_text(kept)
        head, tail = kept[: self._half], kept[self._half :]
        return is_text(first_bytes(head, len(head))) and is_text(last_bytes(tail, len(tail)))

    def text(self, limit: int) -> tuple[str, bool]:
        """Return the kept text in at most `limit` bytes of UTF-8, and whether something was left out.

        A gap is marked as `[… 12,345,678 bytes left out …]`.
        """
        kept = self.raw
        if len(kept) == self.total:
            whole = decoded(kept)
            if len(whole.encode()) <= limit:
                return whole, False
        half = max(0, limit - 60) // 2
        head = fitting_start(kept[: self._half], half)
        tail = fitting_end(kept[len(head) :][-self._half :], half)
        dropped = self.total - len(head) - len(tail)
        return f"{decoded(head)}\n[… {dropped:,} bytes left out …]\n{decoded(tail)}", True

    def latest(self) -> str:
        """Return the last lines so far, for the screen."""
        tail = (self._tail or self._head)[-LATEST_BYTES:]
        return "\n".join(decoded(bytes(tail)).splitlines()[-LATEST_LINES:])
