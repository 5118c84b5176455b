"""`prunecli acp`: serve an editor over the Agent Client Protocol."""

import os
from importlib.util import find_spec

import typer

from prunecli.cli.shared import asked_before, single
from prunecli.plugins.app import resolved
from prunecli.tools.processes.environment import hide_environment
from prunecli.util.errors import UsageError

SERVE = "prunecli.features.acp.serve:serve"
"""Imports the protocol's library."""


def acp(ctx: typer.Context) -> None:
    """Serve an editor over standard input and output. Started by the editor."""
    environ = dict(os.environ)
    hide_environment()
    if find_spec("acp") is None:
        raise UsageError("the package agent-client-protocol is missing", "install prunecli again")
    raise typer.Exit(resolved(SERVE)(asked_before(ctx), environ))


app = single(acp)
