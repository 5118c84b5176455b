"""/undo: takes prunes back."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.figures import short
from prunecli.model.events import PrunApplied, PrunReverted
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Take the newest prune back, or all of them: /undo all."""
    live = runtime.session.context.live_pruns()
    if not live:
        return [Say("Nothing to undo: no prune is in force.")]
    chosen = live if arguments == "all" else live[-1:]
    tokens = sum(record.event.tokens_removed for record in chosen if isinstance(record.event, PrunApplied))
    runtime.emit(PrunReverted(tuple(record.seq for record in reversed(chosen))))
    return [Say(f"Undone: {len(chosen)} prune{'s' * (len(chosen) > 1)}, ~{short(tokens)} tokens are back.")]
