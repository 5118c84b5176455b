"""/quit: leave."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Quit
from prunecli.runtime import Runtime

ALIASES = ("exit",)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Leave; the session is kept and `prunecli -c` continues it."""
    return [Quit()]
