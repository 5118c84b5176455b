"""/prune: prune now, for the next request, without minimum and gate."""

from collections.abc import Sequence
from dataclasses import replace

from prunecli.commands.command import Effect, Say
from prunecli.figures import short
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Prune now: everything the strategy does not protect."""
    context = runtime.session.context
    events, note = runtime.policy.forced(context)
    if not events:
        return [Say(f"Nothing to prune: {note or 'no tool results yet'}")]
    before = context.counts.context_tokens
    for event in events:
        runtime.emit(replace(event, reason="the user asked for it"))
    removed = before - context.counts.context_tokens
    results = sum(event.messages_removed for event in events)
    return [Say(f"Pruned {results} results, ~{short(removed)} tokens. /undo brings them back.")]
