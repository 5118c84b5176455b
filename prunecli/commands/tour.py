"""/tour: leave for the guided tour."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Quit, Say, refuse
from prunecli.runtime import Runtime

NOT_IN = {"headless": "use prunecli demo in a terminal", "editor": "Run `prunecli demo` in a terminal."}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Leave for the guided tour in a scratch folder; `prunecli -c` continues this session."""
    refuse("tour", arguments.split())
    if runtime.introduction:
        return [Say("This is the tour: Enter sends the line that the prompt proposes.")]
    runtime.leaves_for_tour = True
    return [Quit()]
