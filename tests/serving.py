"""A small web server on loopback, for tests of what asks endpoints."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps
from threading import Thread
from typing import Any

JSON, HTML, EVENTS = "application/json", "text/html; charset=utf-8", "text/event-stream"

Answer = tuple[int, str, bytes]
"""Status, content type, body."""


@dataclass
class Served:
    """The server's port, and the requests that it got: method, path, body, headers."""

    port: int
    requests: list[tuple[str, str, bytes]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"


def as_json(value: Any, status: int = 200) -> Answer:
    """An answer of JSON."""
    return status, JSON, dumps(value).encode()


def nothing(method: str, path: str, body: bytes) -> Answer:
    """404, as a web server that has no such page says it."""
    return 404, HTML, b"<html><title>404 Not Found</title></html>"


@contextmanager
def serving(answer: Callable[[str, str, bytes], Answer], name: str = "") -> Iterator[Served]:
    """A server that answers so. `name` is its Server header."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            served.requests.append((self.command, self.path, body))
            served.headers.append({key.lower(): value for key, value in self.headers.items()})
            status, kind, content = answer(self.command, self.path, body)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

        def version_string(self) -> str:
            return name or super().version_string()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Served(server.server_port)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
