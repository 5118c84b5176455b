"""/prune: prune now, without a minimum and without the cost gate, or preview it."""

from collections.abc import Sequence
from dataclasses import replace

from prunecli.commands.command import Effect, Say
from prunecli.context.impact import impact
from prunecli.context.state import Context
from prunecli.errors import UsageError
from prunecli.figures import short
from prunecli.inspector.labels import restored
from prunecli.runtime import Runtime


def _undone(context: Context) -> str:
    """Return a sentence about results that an undo restored; "" if there are none."""
    if not (count := len(restored(context))):
        return ""
    those = (
        "1 result that an undo restored is" if count == 1 else f"{count} results that an undo restored are"
    )
    return f". {those} left alone until after your next prompt; /redo or p in /context prunes anyway"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Prune everything that the strategy does not protect. /prune preview only shows it."""
    if arguments not in ("", "preview"):
        raise UsageError(
            f"/prune {arguments}: unknown argument",
            "use /prune to prune, or /prune preview to see the effect",
        )
    context = runtime.session.context
    events, note = runtime.policy.forced(context)
    if not events:
        return [Say(f"Nothing to prune: {note or 'no tool results yet'}{_undone(context)}")]
    found = impact(context, events, runtime.policy.market)
    results = sum(event.messages_removed for event in events)
    amount = f"{results} result{'s' * (results != 1)}"
    if arguments:
        tokens = f"~{short(found.withheld)} tokens"
        said = "; ".join(filter(None, (f"{amount}, {tokens}", found.price, found.thinking)))
        return [Say(f"/prune would prune {said}.")]
    for event in events:
        runtime.emit(replace(event, reason="the user asked for it"))
    thinking = f" This {found.thinking}." if found.thinking else ""
    return [Say(f"Pruned {amount}.{thinking} /undo to restore {'it' if results == 1 else 'them'}.")]
