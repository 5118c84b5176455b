"""/compact: summarize the older part of the session."""

from collections.abc import Sequence
from functools import partial

from prunecli.commands.command import WORKING, CompactNow, Effect, Say, weighed
from prunecli.context.compaction import CompactionPlan, why_nothing
from prunecli.context.item_order import covers
from prunecli.context.state import Context
from prunecli.context.tokens import total
from prunecli.model.events import CompactionApplied
from prunecli.runtime import Runtime
from prunecli.util.figures import counted, short


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Summarize the older part of the session, with an optional focus: /compact the parser."""
    if runtime.running:
        return [WORKING]
    runtime.session.refuse_read_only()
    runtime.give_up()
    context, policy = runtime.session.context, runtime.policy
    plan = policy.plan_compaction(context, arguments)
    if plan is None:
        why = why_nothing(context, policy.compaction, policy.window)
        return [Say(f"Nothing to summarize yet: {why}.")]
    act = partial(_compact, arguments)
    return weighed(runtime, policy.summary(context, plan), "Summarize", act, _protected(context, plan))


def _compact(focus: str) -> Sequence[Effect]:
    return [CompactNow(focus)]


def _protected(context: Context, plan: CompactionPlan) -> str:
    """Return what becomes protected: the results that a summary keeps."""
    gone = CompactionApplied("", plan.head_end, plan.tail_start)
    heads = [item for item in context.items if not covers(gone, item)]
    parts = [part for head in heads for part in (head.exchange.results if head.exchange else [head])]
    kept = [part for part in parts if part.prunable and context.text_edit(part.seq) is None]
    tokens = context.counts.scale.tokens(*total(map(context.counts.amount, kept)))
    return f"{short(tokens)} in {counted(len(kept), 'result')} stay and become protected" if kept else ""
