"""`prunecli acp`: serve an editor over the Agent Client Protocol."""

import os
from importlib.util import find_spec

import typer

from prunecli.cli.shared import asked_before, single
from prunecli.tools.processes.environment import hide_environment
from prunecli.util.errors import UsageError


def acp(ctx: typer.Context) -> None:
    """Serve an editor over standard input and output. Started by the editor."""
    environ = dict(os.environ)
    hide_environment()
    if find_spec("acp") is None:
        raise UsageError("`prunecli acp` needs the extra acp", "pip install 'prunecli[acp]'")
    from prunecli.features.acp.serve import serve  # imports the protocol's library

    raise typer.Exit(serve(asked_before(ctx), environ))


app = single(acp)
