"""The request for a summary in a replay. Its cost is not counted, but what it reads or stores stays in the cache."""

from dataclasses import replace

from prunecli.agent.assemble import cache_marks, compaction_marks
from prunecli.agent.policy import Policy
from prunecli.context.placing import group_of
from prunecli.context.state import Context
from prunecli.model.events import AttemptBilled, CompactionApplied
from prunecli.model.messages import Usage
from prunecli.replay.prefix import PrefixCache


def summarized(
    event: AttemptBilled | CompactionApplied,
    context: Context,
    cache: PrefixCache,
    model: str,
    policy: Policy,
    sent: int,
    answered: int,
) -> Usage:
    """Send the request for the summary that an event records, and return its usage without the question.

    `sent` and `answered` are in unix ms.
    """
    wire = context.wire
    if cut := _cut(event, context, policy):
        marks, items = compaction_marks(context, cut, policy.market), wire.items_before(cut)
    else:
        asks_in_last = len(wire) > 0 and wire.role(len(wire) - 1) == "user"
        marks, items = cache_marks(context, len(wire) - asks_in_last), len(context.items)
    cache.lay_out(context, model)
    ends = [wire.items_before(at + 1) for at in marks]
    usage = cache.sent(sent, answered, event.usage.output_tokens, ends or (0,))
    behind = cache.tokens - round(cache.totals[items])
    cache.forget_layout()
    return replace(usage, input_tokens=max(0, usage.input_tokens - behind))


def _cut(event: AttemptBilled | CompactionApplied, context: Context, policy: Policy) -> int:
    """Return the number of messages that the endpoint summarizes; 0 if the model writes the summary.

    A summary that was of no use is taken for one by the endpoint if the model supports this.
    """
    if isinstance(event, CompactionApplied):
        is_known = event.tail_start in context.entries  # else the log is damaged
        return group_of(context, event.tail_start) if event.block and is_known else 0
    plan = policy.plan_compaction(context, "")
    return plan.cut(context) if plan and plan.by_endpoint else 0
