"""/compact: summarize the older part of the session."""

from collections.abc import Sequence

from prunecli.commands.command import WORKING, CompactNow, Effect, Say
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Summarize the older part of the session, with an optional focus: /compact the parser."""
    if runtime.running:
        return [WORKING]
    runtime.subagents.give_up()
    if runtime.policy.plan_compaction(runtime.session.context, arguments) is None:
        return [Say("Nothing to compact yet.")]
    return [CompactNow(arguments)]
