"""`prunecli update`: how this installation is updated; for uv and pipx, do it after a yes."""

import asyncio
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Annotated

import typer

from prunecli import __version__
from prunecli.cli.shared import single
from prunecli.features.updates.releases import direct_url, installation, is_newer, newest
from prunecli.util.errors import PrunecliError, UsageError
from prunecli.util.sanitize import one_line


def update(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run the command without asking.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask pypi.org for a release.")] = False,
) -> None:
    """Show this release and the newest one, and how to update; runs uv or pipx after a yes."""
    found = installation(Path(sys.prefix), direct_url())
    typer.echo(f"prunecli {__version__}, {found.how}.")
    if not offline and not _is_news():
        return
    if not found.runs:
        typer.echo(f"To update: {found.line}")
        return
    program = which(found.command[0])
    if program is None:
        raise UsageError(f"{found.command[0]} is not on your PATH", f"run it where it is: {found.line}")
    if not yes and not (sys.stdin.isatty() and typer.confirm(f"Run {found.line}?", default=True)):
        typer.echo(f"To update: {found.line}")
        return
    code = subprocess.run((program, *found.command[1:]), check=False).returncode  # after a yes
    if code:
        raise typer.Exit(code)


def _is_news() -> bool:
    """Say which release is the newest; return whether updating may change something."""
    try:
        version = asyncio.run(newest())
    except PrunecliError as error:
        typer.echo(f"The newest release is unknown: {one_line(error.message)}", err=True)
        return True
    news = is_newer(version, __version__)
    typer.echo(f"The newest release is {version}." if news else f"That is the newest release ({version}).")
    return news


app = single(update)
