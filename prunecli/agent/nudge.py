"""One sentence that suggests `prun` to the model, when much of its own old output is sent to a cold cache."""

from prunecli.agent.policy import Policy
from prunecli.context.compaction import last_word
from prunecli.context.economics import cold
from prunecli.context.prun import removable
from prunecli.context.state import Context
from prunecli.context.tokens import total
from prunecli.model.events import UserMessage
from prunecli.model.notes import notice, notice_parts
from prunecli.model.requests import PREAMBLE, takes

TITLE = "old results"


def nudge(context: Context, policy: Policy) -> UserMessage | None:
    """Return the notice for the newest prompt, None if there is nothing to suggest.

    The prefix is sent anew with this request, cold or pruned. A prune by the model would come one request later, and
    write what follows again: it has to gain a margin times that, and the request that asks for it. Exchanges that an
    earlier notice counted are not counted again. On models with bound thinking, such a prune would cost the thinking.
    """
    numbers, market = policy.expectations, policy.market
    last = context.exchanges[-1].seq if context.exchanges else -1
    if not policy.nudges or policy.binds or numbers is None or not -1 < last < last_word(context):
        return None
    prunes = policy.prunes(context)
    if not (prunes or cold(context, market)) or not takes(context.settings.get(PREAMBLE), "prun", "list"):
        return None
    view = policy.view(context).after([edit for event in prunes for edit in event.edits])
    told = max((seq for seq in context.fixed.seqs if _is_nudge(context, seq)), default=-1)
    old, counts = [one for one in removable(view) if one.seq > told], context.counts
    tokens = counts.scale.tokens(*total(map(view.shown_amount, old)))
    rates, left = market.rates_for(counts.context_tokens), counts.context_tokens - tokens
    asking = counts.context_tokens * rates.read + numbers.reply_tokens * rates.output
    cost = left * (rates.write - rates.read) + asking
    if tokens * rates.read * numbers.further(context.requests) <= numbers.margin(market.ttl_ms) * cost:
        return None
    said = f'Old results of this session take {tokens:,} tokens; `prun {{"list": true}}` names them.'
    return notice(TITLE, said, fixed=True)


def _is_nudge(context: Context, seq: int) -> bool:
    event = context.entries[seq].event
    parts = notice_parts(event) if isinstance(event, UserMessage) else None
    return parts is not None and parts[0] == TITLE
