"""`prunecli sessions import`: convert sessions of other agents."""

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from prunecli.cli.installed import installed
from prunecli.cli.launch import complain, working_directory
from prunecli.cli.progress import working
from prunecli.cli.shared import own_sessions, single
from prunecli.features.import_sessions.importable import Importable
from prunecli.plugins.app import resolved
from prunecli.plugins.foreign import ForeignFailed, bounded
from prunecli.session.importers.handoff import kept, numbered
from prunecli.session.importers.source import Source, of_messages, opened
from prunecli.session.importers.store_import import SavedSession, save
from prunecli.session.store import random_bytes
from prunecli.util.errors import PrunecliError, SessionError
from prunecli.util.sanitize import one_line, visible

PLUGIN_SECONDS = 60.0
"""Time limit in seconds for a plugin that reads a file."""
_NAMED_LINES = 5
_ALWAYS = ("prompts", "responses", "results")


def import_(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Session files of other agents, also packed (.gz, .zst), or @AGENT:ID. Without one, or with @AGENT "
            "alone, lists the sessions of this directory to choose from.",
            show_default=False,
        ),
    ] = None,
    branches: Annotated[
        bool, typer.Option("--branches", help="Import other branches too, as forks.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Import again, as another copy.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Import sessions from Claude Code, pi, Codex, OpenCode, Gemini CLI, agent-session/1 or messages files."""
    offered = Importable(os.environ, working_directory())
    paths = offered.paths_of(files or [])
    if paths is None:
        terminal = sys.stdin.isatty() and sys.stdout.isatty()
        paths = offered.choose(as_json=as_json, ask=input if terminal else None)
    store = own_sessions()
    rows: list[dict[str, Any]] = []
    failed = 0
    for path in paths:
        try:
            with working(f"importing {one_line(path.name)}"):
                source = _read_by_plugin(path) or opened(path)
                other = random_bytes() if again else b""
                saved = save(source, store, working_directory(), branches=branches, again=other)
        except PrunecliError as error:
            failed = failed or complain(error)
            continue
        rows.append(_row(path, source, saved))
        if not as_json:
            typer.echo(visible(_told(rows[-1])))
    if as_json and paths:
        typer.echo(json.dumps(rows, indent=1))
    if failed:
        raise typer.Exit(failed)


def _read_by_plugin(path: Path) -> Source | None:
    """Return the conversation of a file that a plugin recognizes, None if none does. Raises SessionError."""
    for one in installed().of("importer").values():
        try:
            if bounded(partial(_called, one.facts["recognize"], path), PLUGIN_SECONDS):
                return of_messages(path, list(bounded(partial(_called, one.target, path), PLUGIN_SECONDS)))
        except ForeignFailed as error:
            raise SessionError(f"cannot read {path}: plugin {one.owner}: {error}") from error
    return None


def _called(function: Any, path: Path) -> Any:
    return resolved(function)(path)


def _row(path: Path, source: Source, saved: tuple[SavedSession, ...]) -> dict[str, Any]:
    main, *others = saved
    return {
        "file": str(path),
        "id": main.id,
        "path": str(main.path),
        "new": main.made,
        "outgrown": main.outgrown,
        "source": source.imported.origin.to_json(),
        "kept": kept(source.records),
        "left_out": dict(source.imported.left_out),
        "damaged": list(source.notices),
        "branches": source.imported.branch_count,
        "forks": [{"id": other.id, "path": str(other.path), "new": other.made} for other in others],
    }


def _told(row: dict[str, Any]) -> str:
    kept = ", ".join(
        numbered(number, what) for what, number in row["kept"].items() if number or what in _ALWAYS
    )
    done = "imported" if row["new"] else "already imported (--again makes another copy):"
    if row["outgrown"]:
        done = f"changed since it was imported as {row['outgrown']}, which is kept; imported"
    lines = [f"{done} {row['id']}  {row['source']['kind']}: {kept}"]
    beside = [what for what in row["left_out"] if what.startswith("subagent files")]
    lines += [f"  not imported: {row['left_out'][what]} {what}" for what in beside]
    if others := {what: number for what, number in row["left_out"].items() if what not in beside}:
        parts = sorted(others.items(), key=lambda one: -one[1])
        lines.append("  left out: " + ", ".join(f"{number} {what}" for what, number in parts))
    lines += [f"  skipped: {said}" for said in row["damaged"][:_NAMED_LINES]]
    if len(row["damaged"]) > _NAMED_LINES:
        lines.append(f"  skipped: {len(row['damaged']) - _NAMED_LINES} more lines")
    for fork in row["forks"]:
        lines.append(f"  branch: {fork['id']}")
    if row["branches"] and not row["forks"]:
        lines.append(f"  {row['branches']} other branches not imported (--branches imports them as forks)")
    lines.append(f"  continue with: prunecli --resume {row['id']}")
    return "\n".join(lines)


app = single(import_)
