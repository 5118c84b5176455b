"""A relay in front of the proxy. It keeps what the program asks, and numbers each request for the endpoint."""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from urllib.parse import urlsplit

TAG = "x-asked"


@contextmanager
def tapped(target: Path) -> Iterator[tuple[str, list[tuple[int, bytearray]]]]:
    """Yield the address, and when each request came (ms) with its bytes. `target` holds the address behind."""
    asked: list[tuple[int, bytearray]] = []

    class Relay(BaseRequestHandler):
        def handle(self) -> None:
            behind = ("127.0.0.1", urlsplit(target.read_text().strip()).port or 0)
            with suppress(OSError), socket.create_connection(behind) as server:
                Thread(target=_copy, args=(server, self.request), daemon=True).start()
                while data := self.request.recv(1 << 16):
                    if begin := re.match(rb"[A-Z]+ /\S* HTTP/1.1\r\n", data):
                        server.sendall(begin[0] + f"{TAG}: {len(asked)}\r\n".encode())
                        data = data[begin.end() :]
                        asked.append((time.time_ns() // 1_000_000, whole := bytearray()))
                    server.sendall(data)
                    whole += data

    with ThreadingTCPServer(("127.0.0.1", 0), Relay) as relay:
        relay.daemon_threads = True
        Thread(target=relay.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{relay.server_address[1]}", asked
        relay.shutdown()


def _copy(server: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):
        while data := server.recv(1 << 16):
            client.sendall(data)
        client.shutdown(socket.SHUT_RDWR)
