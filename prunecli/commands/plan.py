"""/plan: look first, change nothing, and end in a plan that the user approves."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, Submit
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Plan mode: the agent only reads and ends in a plan to approve; /plan TASK begins at once."""
    runtime.set_mode("plan")
    if arguments:
        return [Submit(arguments)]
    return [Say("Mode plan: only reads pass, and the agent ends in a plan that you approve or deny.")]
