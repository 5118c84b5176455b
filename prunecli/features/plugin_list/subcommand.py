"""`prunecli plugins`: what is installed."""

import json
from typing import Annotated

import typer

from prunecli.cli.shared import configured, group
from prunecli.features.plugin_list.listing import HEADINGS, as_json, rows
from prunecli.util.sanitize import one_line

app = group("List plugins and features: what they bring, and which are off.")


@app.callback()
def plugins() -> None:
    """List plugins and features: what they bring, and which are off."""


@app.command("list")
def list_(
    ctx: typer.Context,
    as_lines: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """List plugins and features: where each comes from, what it brings, and why it is off."""
    installed = configured(ctx).installed
    if as_lines:
        typer.echo(json.dumps(as_json(installed), indent=1))
        return
    lines = [HEADINGS, *rows(installed)]
    widths = [max(len(one_line(row[at])) for row in lines) for at in range(4)]
    for row in lines:
        cells = [one_line(cell).ljust(width) for cell, width in zip(row, widths, strict=False)]
        typer.echo("  ".join([*cells, f"{one_line(row[4])}  ({one_line(row[5])})"]).rstrip())
