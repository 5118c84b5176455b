"""/prune: prune now, for the next request, without minimum and gate."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.figures import short
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Prune now: everything the strategy does not protect."""
    before = len(runtime.session.context.pruns)
    removed, note = runtime.prune_now()
    if len(runtime.session.context.pruns) == before:
        return [Say(f"Nothing to prune: {note or 'no tool results yet'}")]
    events = runtime.session.context.live_pruns()[before:]
    results = sum(getattr(record.event, "messages_removed", 0) for record in events)
    return [Say(f"Pruned {results} results, ~{short(removed)} tokens. /undo brings them back.")]
