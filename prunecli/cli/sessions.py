"""`prunecli sessions`: list, search, show, verify, audit and remove; features add more. Only `rm` changes a file."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prunecli.cli import completions
from prunecli.cli.flags import OWN_COMMANDS
from prunecli.cli.launch import working_directory
from prunecli.cli.progress import working
from prunecli.cli.shared import configured, group, own_sessions
from prunecli.context.labels import prune_in_words, tokens_pruned_by
from prunecli.context.state import Context
from prunecli.context.tokens import Chars4
from prunecli.model.events import (
    AssistantMessage,
    CompactionApplied,
    PrunApplied,
    Record,
    ToolResult,
    UserMessage,
)
from prunecli.model.messages import Usage, plain_text, tool_uses
from prunecli.model.record_codec import record_to_json
from prunecli.model.requests import TTL_MS
from prunecli.providers.models import ModelTable, cost, token_factor
from prunecli.providers.tokenizer import counter
from prunecli.runtime.offered_models import recorded_prices, with_prices
from prunecli.runtime.sessions import Costs, hit_row, line_of, row_of
from prunecli.session.audit import audit
from prunecli.session.log import read_log
from prunecli.session.session import Session
from prunecli.session.session_files import remove, tasks_of
from prunecli.session.session_search import search as search_in
from prunecli.session.session_tree import Member, family
from prunecli.session.verify import verify_session
from prunecli.util.figures import counted
from prunecli.util.paths import Places
from prunecli.util.sanitize import one_line, visible

if TYPE_CHECKING:
    from prunecli.session.audit import Audit

Readable = Annotated[
    str,
    typer.Argument(help="Session id, unique prefix or name, or a file.", autocompletion=completions.sessions),
]
Kept = Annotated[
    str, typer.Argument(help="Session id, unique prefix or name.", autocompletion=completions.sessions)
]

app = group(OWN_COMMANDS["sessions"])


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
    here: Annotated[bool, typer.Option("--here", help="Only sessions of this directory.")] = False,
    tree: Annotated[bool, typer.Option("--tree", help="Show copies and tasks below their sessions.")] = False,
) -> None:
    """List sessions, most recently changed first."""
    found = own_sessions().list(working_directory() if here else None)
    costs = Costs.of(Places.of(os.environ))
    if as_json:
        members = {member.session.id: member for member in family(found)}
        rows = [row_of(one, costs) | {"parent": _parent(members[one.id])} for one in found]
        typer.echo(json.dumps(rows, indent=1))
        return
    for member in family(found) if tree else [Member(one) for one in found if not one.is_task]:
        mark = "task: " if member.session.is_task else ""
        typer.echo(visible(f"{member.lines}{line_of(member.session, costs, mark)}"))
    if not found:
        typer.echo("no sessions yet")


def _parent(member: Member) -> dict[str, object] | None:
    """Return the session and record that this one was copied from, or whose call started it; a handoff has no record.
    None for neither."""
    if member.session.digest.is_handoff:
        return {"id": member.parent}
    task = {"tool_use_id": member.session.digest.task} if member.session.is_task else {}
    return None if member.at is None else {"id": member.parent, "seq": member.at, **task}


@app.command("search")
def search(
    words: Annotated[list[str], typer.Argument(help="Words to find, all within one message or output.")],
    here: Annotated[bool, typer.Option("--here", help="Only sessions of this directory.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Search all sessions for messages, outputs and commands that contain every word, newest session first."""
    found = own_sessions().list(working_directory() if here else None)
    titles = {one.path: one.label for one in found}
    before, count = None, 0
    try:
        for hit in search_in([one.path for one in found], " ".join(words)):
            if isinstance(hit, int):
                continue
            count += 1
            if as_json:
                typer.echo(json.dumps(hit_row(hit)))
                continue
            if hit.path != before:
                typer.echo(visible(f"{hit.path.stem}  {one_line(titles[hit.path])}"))
            before = hit.path
            typer.echo(visible(f"  {hit.seq:>6} {hit.who}: {hit.excerpt}"))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    if not count and not as_json:
        typer.echo("no matches")


@app.command("show")
def show(
    ctx: typer.Context,
    session: Readable,
    as_json: Annotated[bool, typer.Option("--json", help="Print the records, one per line.")] = False,
) -> None:
    """Show the conversation of a session."""
    path, estimator = _path(session), configured(ctx).pruning.estimator
    loaded = Session.load(path, Context(counter(estimator), token_factor), writable=False)
    for notice in loaded.notices:
        typer.echo(f"prunecli: {visible(notice)}", err=True)
    for record in loaded.records:
        if as_json:
            typer.echo(json.dumps(record_to_json(record)))
        elif text := _line(record, loaded.context):
            typer.echo(visible(text))


@app.command("verify")
def verify(session: Readable) -> None:
    """Check every line and recompute the hash of every request from the log alone."""
    path = _path(session)
    with working("verifying"):
        report = verify_session(path, read_log(path))
    for line in report.lines:
        typer.echo(visible(line))
    if not report.clean:
        raise typer.Exit(4)


@app.command("audit")
def audit_(
    ctx: typer.Context,
    session: Readable,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show estimated, reported and cached tokens and the cost of each request."""
    path = _path(session)
    with working("auditing"):
        found = _audited(ctx, path)
    typer.echo(json.dumps(found.to_json(), indent=1) if as_json else visible("\n".join(found.lines())))


def _audited(ctx: typer.Context, path: Path) -> "Audit":
    places = Places.of(os.environ)
    config = configured(ctx)
    table = ModelTable.load(places.shipped_data, config.models)
    loaded = Session.load(path, Context(Chars4()), writable=False)
    context = Context(counter(config.pruning.estimator), token_factor)
    ttl = config.model.cache_ttl
    recorded = recorded_prices(loaded.records)

    def price(model: str, usage: Usage) -> float | None:
        return cost(usage, with_prices(table.info(model or loaded.started.model), recorded), ttl)

    return audit(loaded.records, context, price, TTL_MS[ttl])


@app.command("rm")
def rm(
    session: Kept,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
) -> None:
    """Delete a session and its tasks. Asks first, and refuses if another process has the session open."""
    path = own_sessions().find(session)
    count = len(tasks_of(path))
    tasks = f" and its {counted(count, 'task')}" if count else ""
    if yes or typer.confirm(f"Delete {path}{tasks}?"):
        remove(path)
        typer.echo(f"deleted {path.stem}{tasks}")


def _path(session: str) -> Path:
    """Return the file itself if it exists, otherwise the session with that id, prefix or name."""
    if session.endswith(".jsonl") and os.path.exists(session):
        return Path(session)
    return own_sessions().find(session)


def _line(record: Record, context: Context) -> str:
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
        case PrunApplied() as event:
            return f"{record.seq:>5}   {prune_in_words(event, tokens_pruned_by(context, record.seq) or 0)}"
        case CompactionApplied(summary):
            return f"\n{record.seq:>5}   {summary}"
        case _:
            return ""
