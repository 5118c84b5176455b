"""The last resort without the model: makes room when the context is about to exceed its window.

Clears the oldest live results until the next request fits, even ones that a strategy protects. Never touches content
that is in progress or pinned, or the user's messages.
"""

from prunecli.context.exchange import Entry
from prunecli.context.state import Context
from prunecli.context.strategy import Proposal
from prunecli.context.view import View
from prunecli.model.edits import Edit
from prunecli.model.events import UserMessage

TRIGGER = 0.9
"""Share of the window, minus the reserve for the answer, at which room is made."""
TARGET = 0.7
"""Share of that room still in use afterwards, low enough that the cache is not broken again with each request."""


def room(window: int, max_tokens: int) -> int:
    """Return the maximum tokens of a prompt: the window minus the reserve for the answer, but at least half the
    window."""
    return max(window // 2, window - max_tokens)


def pressing(context: Context, window: int, max_tokens: int) -> bool:
    """Return whether the next request comes too close to the window."""
    return context.counts.context_tokens > TRIGGER * room(window, max_tokens)


def in_tool_round(context: Context) -> bool:
    """Return whether the model is working on the newest prompt: it has called tools and not finished."""
    last = context.exchanges[-1] if context.exchanges else None
    if last is None or not (last.calls or getattr(last.head.event, "stop_reason", "") == "pause_turn"):
        return False
    said = (seq for seq in reversed(context.user_turns) if not _is_aside(context.entries[seq]))
    return last.seq > next(said, context.boundary)


def _is_aside(entry: Entry) -> bool:
    """Return whether the user message starts no new request: it was sent while the model worked, or is a shell
    command."""
    return isinstance(entry.event, UserMessage) and entry.event.origin in ("steering", "command")


def relieve(view: View, max_tokens: int, *, hard: bool = False) -> Proposal:
    """Clear the oldest results until the request takes `TARGET` of the room.

    `hard`: the endpoint rejected the request, so the estimate was too low. At least the target's share is removed
    anyway. If clearing is not enough, whole exchanges are dropped, oldest first.
    """
    counts = view.context.counts
    excess = counts.context_tokens - round(TARGET * room(view.window, max_tokens))
    if hard:
        excess = max(excess, round((1 - TARGET) * counts.context_tokens))
    edits: list[Edit] = []
    for entry in view.results:
        if excess <= 0:
            break
        if view.locked(entry):
            continue
        what = f"output pruned — ~{view.about(view.tokens(entry), entry):,} tokens"
        if edit := view.replaced("clear", entry, view.placeholder(entry, what)):
            edits.append(edit)
            excess -= counts.scale.tokens(*counts.saved_by([edit], view.context.entries))
    if hard and excess > 0:
        for exchange in view.after(edits).exchanges:
            if excess <= 0:
                break
            if view.locked(exchange) or not exchange.head.is_sent:
                continue
            inside = {entry.seq for entry in exchange.entries}
            edits = [edit for edit in edits if edit.seq not in inside]
            drop = view.drop(exchange)
            edits.append(drop)
            excess -= counts.scale.tokens(*view.shown_amount(exchange))
    edits = list(view.keeping_thinking(edits))
    note = f"the context fills {counts.context_tokens:,} of {view.window:,} tokens"
    return Proposal(tuple(sorted(edits, key=lambda edit: edit.seq)), note)
