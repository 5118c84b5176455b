"""Repairs of histories that the endpoint refuses: each known kind is answered by a recorded edit, so that it
stays repaired (ROBUSTNESS.md rule 3)."""

from prunecli.context.ledger import prun_applied
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import AssistantMessage, PrunApplied
from prunecli.model.messages import RedactedThinking, Thinking


def strip_thinking(view: View) -> PrunApplied | None:
    """The event that leaves out all older thinking, after a signature error; None where there is none.

    Never inside the open tool loop: with thinking enabled its first message must begin with it.
    """
    context = view.context
    last_turn = context.user_turns[-1] if context.user_turns else -1
    edits = [
        Edit("strip", exchange.seq)
        for exchange in context.exchanges
        if exchange.seq < last_turn
        and isinstance(exchange.head.event, AssistantMessage)
        and any(isinstance(block, Thinking | RedactedThinking) for block in exchange.head.event.content)
        and not any(edit.kind == "strip" for _, edit in context.edits_of(exchange.seq))
    ]
    if not edits:
        return None
    return prun_applied(view, "strategy", edits, strategy="repair", reason="earlier thinking was left out")
