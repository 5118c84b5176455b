"""`prunecli login`: the key file."""

import os
import sys

import typer

from prunecli.cli.shared import single
from prunecli.config.credentials import save_key
from prunecli.paths import Places


def login() -> None:
    """Ask for an API key and write the key file (mode 0600)."""
    places = Places.of(os.environ)
    key = typer.prompt("API key", hide_input=True) if sys.stdin.isatty() else sys.stdin.read()
    save_key(places, key)
    typer.echo(f"saved to {places.shown(places.key_file)}")


app = single(login)
