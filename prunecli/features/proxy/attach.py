"""`prunecli attach`: the conversations of running proxies in another terminal. What is pruned or restored there
counts from the program's next request on.
"""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeAlias

import typer

from prunecli.cli.shared import complaining, single
from prunecli.features.proxy.hosting import sockets, status_line
from prunecli.util.errors import SessionNotFound, UsageError
from prunecli.util.sanitize import visible_with_tabs

Ask: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
SECONDS = 30
"""For an answer of a proxy."""


def attach(
    session: Annotated[str, typer.Argument(help="The conversation's id, or its beginning.")] = "",
    command: Annotated[str, typer.Option("--command", "-c", help="Run one command and exit.")] = "",
) -> None:
    """See and change what a running proxy sends.

    Without an id, the only conversation or the one with most tokens.
    """
    with complaining():
        path, row = _chosen(asked_all(dict(os.environ)), session)
        with connection(path) as ask:
            if command:
                typer.echo(_text(ask({"id": row["id"], "line": command})))
                return
            typer.echo(f"{row['id']} · {row['model']}. Type a command; Ctrl+D to leave.")
            for line in _typed(lambda: _status(ask, row)):
                typer.echo(_text(ask({"id": row["id"], "line": line})))


def asked_all(environ: dict[str, str]) -> list[tuple[Path, dict[str, Any]]]:
    """Return all conversations of running proxies, each with the socket of its proxy."""
    rows: list[tuple[Path, dict[str, Any]]] = []
    for path in sorted(sockets(environ).glob("*.sock")):
        with suppress(OSError, ValueError, UsageError), connection(path) as ask:
            rows += [(path, row) for row in ask({})["conversations"]]
    return rows


def _chosen(rows: list[tuple[Path, dict[str, Any]]], wanted: str) -> tuple[Path, dict[str, Any]]:
    fits = [(path, row) for path, row in rows if row["id"].startswith(wanted) or row["id"].endswith(wanted)]
    if not fits:
        hint = (
            f"`prunecli context {wanted}` shows a session that is over"
            if wanted
            else "start one: prunecli wrap claude"
        )
        raise SessionNotFound(f"no proxy has a conversation {wanted}".rstrip(), hint)
    return max(fits, key=lambda pair: int(pair[1]["tokens"]))


def _status(ask: Ask, row: dict[str, Any]) -> str:
    rows = ask({})["conversations"]
    now = next((other for other in rows if other["id"] == row["id"]), row)
    return status_line(now) + (f" · not pruned: {now['off']}" if now["off"] else "")


def _text(answer: dict[str, Any]) -> str:
    return visible_with_tabs(str(answer.get("text") or answer.get("error") or ""))


def _typed(status: Callable[[], str]) -> Iterator[str]:
    while True:
        typer.echo(f"\n{status()}", err=True)
        try:
            line = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            return
        if line in ("/quit", "/exit", "exit", "quit"):
            return
        if line:
            yield line


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


app = single(attach)
