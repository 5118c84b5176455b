"""`prunecli doctor`: check the environment and report problems."""

import os

import typer

from prunecli.cli.shared import configured, single
from prunecli.launch import working_directory
from prunecli.paths import Places
from prunecli.sanitize import one_line


def doctor(ctx: typer.Context) -> None:
    """Check the terminal, configuration, key, endpoint, sandbox, rg and session folder.

    Exits with 1 if there is a problem.
    """
    from prunecli.runtime.checkup import MARKS, checkup, patient_of

    cwd = working_directory()
    found = checkup(patient_of(Places.of(os.environ), cwd, dict(os.environ), lambda: configured(ctx)))
    for one in found:
        hint = f"  ({one.hint})" if one.hint else ""
        typer.echo(one_line(f"{MARKS[one.state]:<4}  {one.name:<13}  {one.said}{hint}"))
    if any(one.state == "problem" for one in found):
        raise typer.Exit(1)


app = single(doctor)
