"""Old thinking, which leaves with a cold batch: the thinking before the newest two user turns, from the start on.

Newer models accept that the first thinking of a conversation is missing, but no gap, and no block that comes back.
So it is the leading run that leaves, and an undo keeps it out on such models (`redo.undoable`). Doing this once while
nothing is cached costs nothing. Repeated in a warm period, it made models forgetful, so a cold cache is the only
moment. Source: the service's documentation of preserved thinking, and its report of April 2026 on lost thinking.
"""

from collections.abc import Iterable, Mapping

from prunecli.context.exchange import Exchange
from prunecli.context.lost_thinking import ThinkingSum, has_thinking
from prunecli.context.state import Context
from prunecli.context.thoughts import thinks
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import PrunApplied

RECENT_TURNS = 2
"""The number of newest user turns that keep their thinking."""


def old_thinking(view: View) -> list[Edit]:
    """Return the edits that leave out old thinking; none if the model sees none of it.

    It ends before the first answer that must stay whole.
    """
    context, found = view.context, list[Edit]()
    recent, scale = view.turn_start(RECENT_TURNS), context.counts.scale
    thought: Mapping[Exchange, bool] = view.measured(
        "old thinking", lambda exchange: has_thinking(exchange.head) and thinks(context, exchange.seq)
    )
    for exchange in (one for one in view.exchanges if thought[one]):
        seq, head = exchange.seq, exchange.head
        if seq > recent or view.locked(head):
            break
        if seq not in view.pending:
            whole = scale.tokens(*context.counts.amount(head))
            seen = 0 if seq in context.unseen.dropped else scale.tokens(*context.counts.thinking(head))
            found.append(Edit("strip", seq, None, None, whole, whole - seen))
    return found if any(edit.tokens_saved for edit in found) else []


def thinking_of(context: Context, edits: Iterable[Edit]) -> ThinkingSum:
    """Return the thinking that these edits leave out."""
    return context.unseen.sum([context.entries[edit.seq] for edit in edits if edit.kind == "strip"])


def is_old_thinking(event: PrunApplied) -> bool:
    """Return whether this prune leaves out old thinking and nothing else."""
    return all(edit.kind == "strip" for edit in event.edits)
