"""/new: another session."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, switched
from prunecli.runtime import Runtime

ALIASES = ("clear",)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Begin a new session; the present one stays and can be resumed."""
    if runtime.running:
        return [Say("The agent is working: Esc stops it.", "warning")]
    unheard = runtime.status().waiting
    runtime.new_session()
    return switched(unheard)
