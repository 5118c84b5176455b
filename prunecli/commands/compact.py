"""/compact: summarize the older part of the session."""

from collections.abc import Sequence

from prunecli.commands.command import WORKING, CompactNow, Effect, Say
from prunecli.context.compaction import why_nothing
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Summarize the older part of the session, with an optional focus: /compact the parser."""
    if runtime.running:
        return [WORKING]
    runtime.give_up()
    context, policy = runtime.session.context, runtime.policy
    if policy.plan_compaction(context, arguments) is None:
        why = why_nothing(context, policy.compaction, policy.window)
        return [Say(f"Nothing to compact yet: {why}.")]
    return [CompactNow(arguments)]
