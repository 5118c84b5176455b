"""`prunecli sessions`: list, show, verify, remove. Reads the files; changes none but by `rm`."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prunecli import cli_porting
from prunecli.cli_errors import complaining
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import AssistantMessage, PrunApplied, Record, ToolResult, UserMessage
from prunecli.model.messages import plain_text, tool_uses
from prunecli.model.record_codec import record_to_json
from prunecli.paths import Places
from prunecli.sanitize import visible
from prunecli.session.family import Member, family
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.store import Store
from prunecli.session.verify import verify_session

if TYPE_CHECKING:
    from prunecli.session.audit import Audit

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="List, show, verify, audit, import and export sessions."
)
app.command("import")(cli_porting.import_)
app.command("export")(cli_porting.export)


def _store() -> Store:
    return Store(Places.of(os.environ).sessions)


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False,
    here: Annotated[bool, typer.Option("--here", help="Only those of this directory.")] = False,
    tree: Annotated[bool, typer.Option("--tree", help="Copies below what they were copied from.")] = False,
) -> None:
    """Sessions, the last changed first."""
    found = _store().list(Path.cwd() if here else None)
    if as_json:
        members = {member.session.id: member for member in family(found)}
        typer.echo(json.dumps([_listed(members[one.id]) for one in found], indent=1))
        return
    for member in family(found) if tree else map(Member, found):
        one = member.session
        when = datetime.fromtimestamp(one.changed / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
        named = f"{one.id}  {when}  {one.size / 1024:8.1f} KB  {one.name or '-'}  {one.cwd}"
        typer.echo(visible(f"{member.lines}{named}"))
    if not found:
        typer.echo("no sessions yet")


def _listed(member: Member) -> dict[str, object]:
    """A session as JSON; `parent` is that of its first record, null for one that was begun anew."""
    one = member.session
    return {
        "id": one.id,
        "name": one.name,
        "cwd": one.cwd,
        "started": one.started,
        "changed": one.changed,
        "bytes": one.size,
        "path": str(one.path),
        "parent": None if member.at is None else {"id": member.parent, "seq": member.at},
    }


@app.command("show")
def show(
    session: Annotated[str, typer.Argument(help="Id, unique prefix, name, or a file.")],
    as_json: Annotated[bool, typer.Option("--json", help="The records, one a line.")] = False,
) -> None:
    """What was said and done in a session."""
    with complaining():
        loaded = Session.load(_path(session), Context(Chars4()), writable=False)
        for notice in loaded.notices:
            typer.echo(f"prunecli: {visible(notice)}", err=True)
        for record in loaded.records:
            if as_json:
                typer.echo(json.dumps(record_to_json(record)))
            elif text := _line(record):
                typer.echo(visible(text))


@app.command("verify")
def verify(session: Annotated[str, typer.Argument(help="Id, unique prefix, name, or a file.")]) -> None:
    """Checks every line and recomputes the hash of every request from the log alone."""
    with complaining():
        path = _path(session)
        report = verify_session(path, read_log(path))
        for line in report.lines:
            typer.echo(visible(line))
        if not report.clean:
            raise typer.Exit(4)


@app.command("audit")
def audit_(
    session: Annotated[str, typer.Argument(help="Id, unique prefix, name, or a file.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Each request: what it was thought to be, what was reported and cached, and what it cost."""
    with complaining():
        path = _path(session)
        found = _audited(path)
    typer.echo(json.dumps(found.to_json(), indent=1) if as_json else visible("\n".join(found.lines())))


def _audited(path: Path) -> "Audit":
    """The audit of a session's file, at the prices and with the cache's time that are configured."""
    from prunecli.config import load
    from prunecli.providers.models import ModelTable, cost, token_factor
    from prunecli.session.audit import audit

    places = Places.of(os.environ)
    config = load(places, Path.cwd(), os.environ)
    table = ModelTable.load(places.shipped_data, config.models)
    loaded = Session.load(path, Context(Chars4()), writable=False)
    context = Context(Chars4(), token_factor(loaded.started.model))
    ttl = config.model.cache_ttl
    minutes = 60 if ttl == "1h" else 5
    return audit(
        loaded.records,
        context,
        lambda model, usage: cost(usage, table.info(model or loaded.started.model), ttl) or 0.0,
        minutes * 60_000,
    )


@app.command("rm")
def rm(
    session: Annotated[str, typer.Argument(help="Id, unique prefix or name.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Deletes one session's file, after asking."""
    with complaining():
        path = _store().find(session)
        if yes or typer.confirm(f"Delete {path}?"):
            path.unlink()
            typer.echo(f"deleted {path.stem}")


def _path(session: str) -> Path:
    """A file as given, else the session of that id, prefix or name."""
    if session.endswith(".jsonl") and Path(session).is_file():
        return Path(session)
    return _store().find(session)


def _line(record: Record) -> str:
    match record.event:
        case UserMessage(content, origin):
            return f"\n{record.seq:>5} > {plain_text(content)}" + (
                f"  [{origin}]" if origin != "prompt" else ""
            )
        case AssistantMessage(content):
            calls = [
                f"  → {call.name} {json.dumps(dict(call.input), ensure_ascii=False)[:100]}"
                for call in tool_uses(content)
            ]
            return "\n".join([f"{record.seq:>5}   {plain_text(content)}", *calls])
        case ToolResult():
            mark = "✗" if record.event.is_error else "✓"
            first = plain_text(record.event.content).split("\n", 1)[0][:100]
            return f"{record.seq:>5}   {mark} {record.event.tool_name}: {first}"
        case PrunApplied():
            event = record.event
            who = event.strategy or event.source
            return f"{record.seq:>5}   ✂ {who}: {event.messages_removed} entries, ~{event.tokens_removed:,} tokens"
        case _:
            return ""
