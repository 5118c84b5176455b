"""/plan: plan mode, in which the agent only reads and ends with a plan to approve."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, Submit
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Plan mode: the agent only reads, then proposes a plan; /plan TASK starts at once."""
    runtime.set_mode("plan")
    if arguments:
        return [Submit(arguments)]
    return [Say("Plan mode: the agent only reads, then proposes a plan to approve or deny.")]
