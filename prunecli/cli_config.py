"""`prunecli config`, `login` and `trust`: the settings that a person looks at and keeps."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from prunecli.agent.trust import TrustStore
from prunecli.cli_errors import complaining
from prunecli.config import Config, load, user_files
from prunecli.config.credentials import save_key
from prunecli.config.save import init
from prunecli.launch import working_directory
from prunecli.paths import Places
from prunecli.sanitize import one_line

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show, check and create configuration.")


def _load() -> Config:
    places = Places.of(os.environ)
    trusted = TrustStore(places.trust_store).is_trusted(working_directory())
    return load(places, working_directory(), os.environ, trusted=trusted)


@app.command("show")
def show() -> None:
    """Every value in effect, with where it came from."""
    with complaining():
        config = _load()
        for key, value, origin in config.items():
            typer.echo(f"{key} = {json.dumps(value) if value is not None else 'unset'}    ({origin})")


@app.command("path")
def path() -> None:
    """The user's configuration files."""
    for file in user_files(Places.of(os.environ)):
        typer.echo(f"{file}" + ("" if file.exists() else "  (not there)"))


@app.command("init")
def init_() -> None:
    """Writes a commented config.toml where there is none yet."""
    with complaining():
        typer.echo(f"wrote {init(Places.of(os.environ))}")


@app.command("check")
def check() -> None:
    """Reads all files and says what is wrong."""
    with complaining():
        config = _load()
        for notice in config.notices:
            typer.echo(notice)
        typer.echo("the configuration is good")


def login() -> None:
    """Asks for an API key and writes the key file (mode 0600)."""
    places = Places.of(os.environ)
    with complaining():
        key = typer.prompt("API key", hide_input=True) if sys.stdin.isatty() else sys.stdin.read()
        save_key(places, key)
        typer.echo(f"saved to {places.shown(places.key_file)}")


def doctor() -> None:
    """Looks at terminal, configuration, key, endpoint, sandbox, rg and session folder: one line each.

    The exit code is 1 where something has to be mended.
    """
    from prunecli.runtime.checkup import MARKS, checkup, patient_of

    with complaining():
        here = working_directory()
    found = checkup(patient_of(Places.of(os.environ), here, dict(os.environ), _load))
    for one in found:
        hint = f"  ({one.hint})" if one.hint else ""
        typer.echo(one_line(f"{MARKS[one.state]:<4}  {one.name:<13}  {one.said}{hint}"))
    if any(one.state == "problem" for one in found):
        raise typer.Exit(1)


def trust(
    directory: Annotated[Path | None, typer.Argument(help="This directory by default.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Trust it no longer.")] = False,
) -> None:
    """Trusts a directory: its configuration and instructions count, and tools may change it."""
    places = Places.of(os.environ)
    with complaining():
        target = (directory or working_directory()).resolve()
        store = TrustStore(places.trust_store)
        if remove:
            store.untrust(target)
        else:
            store.trust(target)
        typer.echo(f"{target} is {'no longer ' if remove else ''}trusted")
