"""`prunecli sessions export`: write a session in another format."""

import os
from pathlib import Path
from typing import Annotated

import typer

from prunecli.cli import completions
from prunecli.cli.shared import own_sessions, single
from prunecli.features.export.exporters.formats import exported
from prunecli.front.html import write_new
from prunecli.session.importers.source import opened
from prunecli.util.sanitize import visible


def export(
    session: Annotated[
        str,
        typer.Argument(
            help="Session id, unique prefix or name, or a file in any supported format.",
            autocompletion=completions.sessions,
        ),
    ],
    format_: Annotated[
        str, typer.Option("--format", "-f", help="Format: markdown, html, pi or messages.")
    ] = "markdown",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to this file instead of standard output.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Export everything, as if never pruned or summarized.")
    ] = False,
    keep_secrets: Annotated[
        bool, typer.Option("--keep-secrets", help="Keep text that looks like a key or token.")
    ] = False,
) -> None:
    """Export a session as Markdown, HTML, pi's JSONL or Anthropic Messages JSON."""
    path = Path(session) if os.path.isfile(session) else own_sessions().find(session)
    source = opened(path)
    done = exported(source.records, format_, whole=whole, keep_secrets=keep_secrets)
    for notice in source.notices:
        typer.echo(f"prunecli: {visible(notice)}", err=True)
    if done.redacted:
        typer.echo(f"prunecli: {done.redacted} secrets replaced (--keep-secrets keeps them)", err=True)
    if output is None:
        typer.echo(done.text, nl=False)
    else:
        write_new(output, done.text, force=force)
        typer.echo(visible(f"wrote {output}"), err=True)


app = single(export)
