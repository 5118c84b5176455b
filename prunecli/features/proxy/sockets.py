"""The way to running proxies: sockets that only this user can open. One line of JSON asks, one answers."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from prunecli.util.errors import UsageError
from prunecli.util.paths import Places

Ask: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
SECONDS = 30
"""For an answer of a proxy."""


def sockets(environ: dict[str, str]) -> Path:
    """Return the folder of the sockets of running proxies."""
    return Places.of(environ).data / "proxies"


def answers(asked: dict[str, Any], environ: dict[str, str]) -> list[tuple[Path, dict[str, Any]]]:
    """Return what each running proxy answers, with its socket."""
    found: list[tuple[Path, dict[str, Any]]] = []
    for path in sorted(sockets(environ).glob("*.sock")):
        with suppress(OSError, ValueError, UsageError), connection(path) as ask:
            found.append((path, ask(asked)))
    return found


@contextmanager
def connection(path: Path) -> Iterator[Ask]:
    """Yield a function that asks the proxy behind a socket. Raises OSError, ValueError."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SECONDS)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            near = Path(f"/proc/self/fd/{folder}")
            connection.connect(str(near / path.name if near.exists() else path))
        finally:
            os.close(folder)
        with connection.makefile("rw", encoding="utf-8") as stream:
            yield lambda asked: _asked(stream, asked)


def _asked(stream: TextIO, asked: dict[str, Any]) -> dict[str, Any]:
    stream.write(json.dumps(asked) + "\n")
    stream.flush()
    line = stream.readline()
    if not line:
        raise UsageError("the proxy has ended", "`prunecli sessions list` shows its sessions")
    answer: dict[str, Any] = json.loads(line)
    return answer
