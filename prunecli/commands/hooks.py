"""/hooks: other agents have it; what to use here."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.runtime import Runtime

STAND_IN = True
"""It only says what to use here, so it is listed last."""


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Hooks: not supported; /permissions says what runs without asking."""
    return [Say("prunecli runs no hooks. /permissions and its rules decide what a tool may do.")]
