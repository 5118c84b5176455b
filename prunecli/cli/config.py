"""`prunecli config`: show, check and create configuration files."""

import json
import os
from typing import Annotated

import typer

from prunecli.cli.shared import asked_before, configured, group
from prunecli.config.sample import init
from prunecli.config.sources import user_files
from prunecli.providers.models import expectations_of
from prunecli.tui.themes import load_theme
from prunecli.util.errors import ConfigError
from prunecli.util.figures import counted
from prunecli.util.paths import Places

app = group("Show, check and create configuration.")


@app.command("show")
def show(
    ctx: typer.Context,
    every: Annotated[
        bool, typer.Option("--all", help="Also show values that are still at their default.")
    ] = False,
) -> None:
    """Show the files, and what differs from the built-in values, with its source."""
    config = configured(ctx)
    path(ctx)
    items = list(config.items())
    shown = [item for item in items if every or item.origin != "default"]
    for key, value, origin in shown:
        typer.echo(f"{key} = {json.dumps(value) if value is not None else 'unset'}    ({origin})")
    if same := len(items) - len(shown):
        typer.echo(f"{counted(same, 'value')} as built in: --all shows them")


@app.command("path")
def path(ctx: typer.Context) -> None:
    """List the user's configuration files."""
    for file in user_files(Places.of(os.environ), asked_before(ctx).config_file):
        typer.echo(f"{file}" + ("" if os.path.exists(file) else "  (does not exist)"))


@app.command("init")
def init_() -> None:
    """Write a commented config.toml if there is none."""
    typer.echo(f"wrote {init(Places.of(os.environ))}")


@app.command("check")
def check(ctx: typer.Context) -> None:
    """Check all configuration files and report errors."""
    config, places = configured(ctx), Places.of(os.environ)
    expectations_of(places)
    try:
        load_theme(places, config.ui.theme)
    except ConfigError as error:
        raise ConfigError(f"{config.origin('ui.theme')}: ui.theme: {error.message}", error.hint) from error
    for notice in config.notices:
        typer.echo(notice)
    typer.echo("no errors in the configuration")
