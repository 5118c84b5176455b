"""/compact: a summary of the older part of the session, now."""

from collections.abc import Sequence

from prunecli.commands.command import CompactNow, Effect, Say
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Summarise the older part of the session, with an optional focus: /compact the parser."""
    if runtime.running:
        return [Say("The agent is working: Esc stops it.", "warning")]
    if runtime.policy.plan_compaction(runtime.session.context, arguments) is None:
        return [Say("Nothing to compact: nothing lies between the first and the newest turns.")]
    return [CompactNow(arguments)]
