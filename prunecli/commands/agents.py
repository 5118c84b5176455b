"""/agents: other agents have it; what to use here."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.runtime import Runtime

STAND_IN = True
"""It only says what to use here, so it is listed last."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Subagents: not supported; /fork continues in a copy of the session."""
    return [
        Say("prunecli has no subagents. /fork continues in a copy, `prunecli -p` runs a task on its own.")
    ]
