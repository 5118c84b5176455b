"""HTTP/1.1 without a library: a parser of requests that does no I/O, and the heads of responses.

Bodies by length or in chunks, `Expect: 100-continue`, keep-alive. A body over the limit is read and thrown away,
so that the client can hear the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

HEAD_LIMIT = 64 * 1024

_SIZE_LINE = -1
_LAST_LINE = -2


class MalformedHttpError(Exception):
    """Bytes that are no HTTP/1.1 request."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; header names in lower case. `oversized`: the body was over the limit and is not here."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    oversized: bool = False
    keep_alive: bool = True


class RequestParser:
    """Bytes in with `feed`, requests out with `next`; what is left over belongs to the following request."""

    def __init__(self, body_limit: int):
        self._limit = body_limit
        self._buffer = bytearray()
        self._head: HttpRequest | None = None
        self._missing = 0  # bytes of the body, or of its chunk, still to come; or which line comes next
        self._chunked = False
        self._parts: list[bytes] = []
        self._length = 0
        self.wants_continue = False

    def feed(self, data: bytes) -> None:
        """More bytes from the client."""
        self._buffer += data

    def next(self) -> HttpRequest | None:
        """The next whole request, None when it is not complete; raises MalformedHttpError."""
        if self._head is None and not self._read_head():
            return None
        if not (self._read_chunks() if self._chunked else self._read_length()):
            return None
        head, self._head = self._head, None
        if head is None:
            raise MalformedHttpError("no head")
        oversized = self._length > self._limit
        body = b"" if oversized else b"".join(self._parts)
        self._parts = []
        return HttpRequest(head.method, head.path, head.headers, body, oversized, head.keep_alive)

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > HEAD_LIMIT:
                raise MalformedHttpError("head too large")
            return False
        lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        parts = lines[0].split(" ")
        if len(parts) != 3 or parts[2] not in ("HTTP/1.1", "HTTP/1.0"):
            raise MalformedHttpError(f"no request line: {lines[0]!r}")
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip():
                raise MalformedHttpError(f"no header: {line!r}")
            headers[name.lower()] = value.strip()
        keep_alive = parts[2] == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        self._head = HttpRequest(parts[0], parts[1], headers, b"", keep_alive=keep_alive)
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        self._length = 0
        self._missing = _SIZE_LINE
        if not self._chunked:
            length = headers.get("content-length", "0")
            if not length.isdecimal():
                raise MalformedHttpError(f"no length: {length!r}")
            self._missing = self._length = int(length)
        self.wants_continue = headers.get("expect", "").lower() == "100-continue" and self._missing != 0
        return True

    def _take(self, count: int) -> None:
        """Move bytes of the body out of the buffer; thrown away when the body is over the limit."""
        if self._length <= self._limit:
            with memoryview(self._buffer) as view:
                self._parts.append(bytes(view[:count]))
        else:
            self._parts = []
        del self._buffer[:count]
        self._missing -= count

    def _read_length(self) -> bool:
        if len(self._buffer) < self._missing and self._length <= self._limit:
            return False  # one copy when all of it is here
        self._take(min(len(self._buffer), self._missing))
        return self._missing == 0

    def _read_chunks(self) -> bool:
        while True:
            if self._missing == _SIZE_LINE:
                end = self._buffer.find(b"\r\n")
                if end < 0:
                    return False
                size = bytes(self._buffer[:end]).partition(b";")[0].strip()
                del self._buffer[: end + 2]
                if not size:
                    continue  # the line end behind a chunk
                try:
                    self._missing = int(size, 16)
                except ValueError:
                    raise MalformedHttpError(f"no chunk size: {size!r}") from None
                self._length += self._missing
                if not self._missing:
                    self._missing = _LAST_LINE
            if self._missing == _LAST_LINE:
                if len(self._buffer) < 2:
                    return False
                del self._buffer[:2]
                return True
            self._take(min(len(self._buffer), self._missing))
            if self._missing:
                return False
            self._missing = _SIZE_LINE


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """Status line and headers of a response."""
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)
