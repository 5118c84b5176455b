"""`prunecli trust`: trust a directory or stop trusting it."""

import os
from pathlib import Path
from typing import Annotated

import typer

from prunecli.cli.launch import working_directory
from prunecli.cli.shared import single
from prunecli.safety.trust import TrustStore
from prunecli.util.paths import Places
from prunecli.util.sanitize import one_line, source


def trust(
    directory: Annotated[Path | None, typer.Argument(help="The directory; default: this one.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Stop trusting it.")] = False,
) -> None:
    """Trust a directory: load its configuration and instructions, and let tools change it."""
    places = Places.of(os.environ)
    target = (directory or working_directory()).resolve()
    store = TrustStore(places.trust_store)
    if remove:
        store.untrust(target)
    else:
        if changed := store.changes(target):
            typer.echo(source(changed))
        store.trust(target)
    typer.echo(f"{one_line(str(target))} is {'no longer ' if remove else ''}trusted")


app = single(trust)
