"""`prunecli attach`: the conversation of a running proxy in another terminal, on the screen of `/context`.

The log is read as it grows. The proxy records what is pruned or restored there, from the program's next request on.
"""

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from prunecli.cli.launch import working_directory
from prunecli.cli.shared import complaining, single
from prunecli.features.proxy.hosting import runtime_for
from prunecli.features.proxy.sockets import Ask, answers, connection
from prunecli.model.events import Event, Record
from prunecli.model.record_codec import record_to_json
from prunecli.runtime import Runtime
from prunecli.runtime.make import DEMO_NOTICE
from prunecli.session.following import followed_to
from prunecli.session.session import Session
from prunecli.session.store import Store
from prunecli.tui import run_tui
from prunecli.util.errors import SessionNotFound, UsageError
from prunecli.util.paths import Places


def attach(
    session: Annotated[str, typer.Argument(help="The conversation's id, or its beginning.")] = "",
) -> None:
    """View and edit what a running proxy sends.

    Without an id, the conversation with most tokens. Esc leaves the list for the transcript.
    """
    with complaining(), ExitStack() as stack:
        environ = dict(os.environ)
        found = chosen(asked_all(environ), session)
        ask = stack.enter_context(connection(found[0])) if found else None
        row = found[1] if found else ended(session, environ)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("attach needs a terminal", "`prunecli proxy --status` prints one line")
        code = run_tui(
            lambda: followed(row, ask, environ),
            places=Places.of(environ),
            cwd=Path(row["cwd"]),
            environ=environ,
            prompt="",
            inline=False,
        )
    raise typer.Exit(code)


def followed(row: dict[str, Any], ask: Ask | None, environ: dict[str, str]) -> Runtime:
    """Return a runtime whose session is that of a proxy: open to view, and edited through the proxy, if it runs."""

    def follow(session: Session) -> None:
        session.read_only = "read-only: its proxy has ended"
        if ask is None:
            return

        def edit(event: Event) -> Record:
            answer = ask({"id": row["id"], "event": record_to_json(Record(0, 0, event))})
            if "seq" not in answer:
                raise UsageError(str(answer.get("error")), str(answer.get("hint") or ""))
            return followed_to(session, int(answer["seq"]))

        session.read_only = "read-only: only its program adds messages"
        session.edit_there = edit

    runtime = runtime_for(environ, row["strategy"], Path(row["cwd"]))
    runtime.notices = [line for line in runtime.notices if line != DEMO_NOTICE]
    if row["off"]:
        runtime.notices.append(f"Not pruned: {row['off']}")
    runtime.opening = ["/context"]
    runtime.on_session.append(follow)
    runtime.resume(Path(row["path"]), writable=False)
    return runtime


def asked_all(environ: dict[str, str]) -> list[tuple[Path, dict[str, Any]]]:
    """Return all conversations of running proxies, each with the socket of its proxy."""
    return [(path, row) for path, answer in answers({}, environ) for row in answer["conversations"]]


def chosen(rows: list[tuple[Path, dict[str, Any]]], wanted: str) -> tuple[Path, dict[str, Any]] | None:
    """Return the conversation with this id, or with the most tokens; None if no proxy has it."""
    fits = [(path, row) for path, row in rows if row["id"].startswith(wanted) or row["id"].endswith(wanted)]
    return max(fits, key=lambda pair: int(pair[1]["tokens"]), default=None)


def ended(wanted: str, environ: dict[str, str]) -> dict[str, Any]:
    """Return what there is of a conversation whose proxy has ended. Raises SessionNotFound."""
    if not wanted:
        raise SessionNotFound("no proxy has a conversation", "start one: prunecli wrap claude")
    path = Store(Places.of(environ).sessions).find(wanted)
    return {"path": str(path), "cwd": str(working_directory()), "strategy": "", "off": ""}


app = single(attach)
