"""/compact: summarize the older part of the session."""

from collections.abc import Sequence

from prunecli.commands.command import WORKING, CompactNow, Effect, Say
from prunecli.model.messages import Json
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import thinking_cost


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Summarize the older part of the session, with an optional focus: /compact the parser."""
    if runtime.running:
        return [WORKING]
    runtime.subagents.give_up()
    plan = runtime.policy.plan_compaction(runtime.session.context, arguments)
    if plan is None:
        return [Say("Nothing to compact yet.")]
    block: dict[str, Json] | None = {} if plan.by_endpoint else None
    cost = thinking_cost(runtime, plan.event(runtime.session.context, "", block))
    return [*([Say(f"In the turns that stay, this{cost.lower()}")] if cost else []), CompactNow(arguments)]
