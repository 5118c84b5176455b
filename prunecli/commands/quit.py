"""/quit: leave the program."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Quit, refuse
from prunecli.runtime import Runtime

ALIASES = ("exit",)
NOT_IN = {"headless": "the run ends by itself", "editor": "Close the session in the editor."}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Quit; `prunecli -c` continues the session."""
    refuse("quit", arguments.split())
    return [Quit()]
