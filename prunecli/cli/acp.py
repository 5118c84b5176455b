"""`prunecli acp`: serve an editor over the Agent Client Protocol."""

import os

import typer

from prunecli.acp import run_acp
from prunecli.cli.shared import asked_before, single
from prunecli.tools.processes.environment import hide_environment


def acp(ctx: typer.Context) -> None:
    """Serve an editor over standard input and output. Started by the editor."""
    environ = dict(os.environ)
    hide_environment()
    raise typer.Exit(run_acp(asked_before(ctx), environ))


app = single(acp)
