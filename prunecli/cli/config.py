"""`prunecli config`: the settings that a person looks at and keeps."""

import json
import os

import typer

from prunecli.cli.shared import asked_before, configured, group
from prunecli.config import user_files
from prunecli.config.save import init
from prunecli.errors import ConfigError
from prunecli.paths import Places

app = group("Show, check and create configuration.")


@app.command("show")
def show(ctx: typer.Context) -> None:
    """Every value in effect, with where it came from."""
    config = configured(ctx)
    for key, value, origin in config.items():
        typer.echo(f"{key} = {json.dumps(value) if value is not None else 'unset'}    ({origin})")


@app.command("path")
def path(ctx: typer.Context) -> None:
    """The user's configuration files."""
    for file in user_files(Places.of(os.environ), asked_before(ctx).config_file):
        typer.echo(f"{file}" + ("" if file.exists() else "  (not there)"))


@app.command("init")
def init_() -> None:
    """Write a commented config.toml where there is none yet."""
    typer.echo(f"wrote {init(Places.of(os.environ))}")


@app.command("check")
def check(ctx: typer.Context) -> None:
    """Read all files and say what is wrong."""
    from prunecli.tui.themes import load_theme

    config = configured(ctx)
    try:
        load_theme(Places.of(os.environ), config.ui.theme)
    except ConfigError as error:
        raise ConfigError(f"{config.origin('ui.theme')}: ui.theme: {error.message}", error.hint) from error
    for notice in config.notices:
        typer.echo(notice)
    typer.echo("the configuration is good")
