"""`prunecli login`: save an API key."""

import os
import sys

import typer

from prunecli.cli.shared import configured, single
from prunecli.config.credentials import keys_of, save_key
from prunecli.util.paths import Places


def login(ctx: typer.Context) -> None:
    """Ask for an API key and save it in a file with mode 0600."""
    places, config = Places.of(os.environ), configured(ctx)
    key = typer.prompt("API key", hide_input=True) if sys.stdin.isatty() else sys.stdin.read()
    file = save_key(places, key, keys_of(config))
    typer.echo(f"saved to {file}")


app = single(login)
