"""/new: start another session."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, switched
from prunecli.runtime import Runtime

ALIASES = ("clear",)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Start a new session; /resume returns to this one."""
    if runtime.running:
        return [Say("The agent is working. Esc to stop it.", "warning")]
    unheard = runtime.status().waiting
    runtime.new_session()
    return switched(unheard)
