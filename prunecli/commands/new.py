"""/new: start another session."""

from collections.abc import Sequence

from prunecli.commands.command import WORKING, Effect, refuse, switched
from prunecli.runtime import Runtime
from prunecli.runtime.user_shell import is_busy

ALIASES = ("clear",)
NOT_IN = {"headless": "leave out -c and -r", "editor": "Start a new session in the editor."}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Start a new session; /resume returns to this one."""
    refuse("new", arguments.split())
    if is_busy(runtime):
        return [WORKING]
    unheard = runtime.status().waiting
    runtime.new_session()
    return switched(unheard)
