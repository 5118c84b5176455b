"""/redo: reapply what the last undo restored."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.context.redo import redo
from prunecli.figures import counted, short
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Redo the prunes that the last /undo restored."""
    events = redo(runtime.policy.view(runtime.session.context), runtime.session.records)
    for event in events:
        runtime.emit(event)
    if not events:
        return [Say("Nothing to redo: the last prune is still in effect.")]
    tokens = sum(event.tokens_removed for event in events)
    return [Say(f"Redid {counted(len(events), 'prune')}, ~{short(tokens)} tokens pruned.")]
