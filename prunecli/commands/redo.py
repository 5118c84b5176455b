"""/redo: what an undo took back is pruned again."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.context.redo import redo
from prunecli.figures import short
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Prune again what the last /undo brought back."""
    events = redo(runtime.policy.view(runtime.session.context), runtime.session.records)
    for event in events:
        runtime.emit(event)
    if not events:
        return [Say("Nothing to redo: the last prune was not undone.")]
    tokens = sum(event.tokens_removed for event in events)
    return [Say(f"Pruned again: {len(events)} prune{'s' * (len(events) > 1)}, ~{short(tokens)} tokens.")]
