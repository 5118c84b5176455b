"""`prunecli attach`: the conversations of running proxies in another terminal. What is pruned or restored there
counts from the program's next request on.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from prunecli.cli.shared import complaining, single
from prunecli.features.proxy.hosting import status_line
from prunecli.features.proxy.sockets import Ask, answers, connection
from prunecli.util.errors import SessionNotFound
from prunecli.util.sanitize import visible_with_tabs


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
    return [(path, row) for path, answer in answers({}, environ) for row in answer["conversations"]]


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


app = single(attach)
