"""/undo: undo prunes."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.errors import UsageError
from prunecli.figures import short
from prunecli.inspector.labels import withheld_by
from prunecli.model.events import PrunReverted
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import thinking_cost


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Undo the last prune, all (/undo all) or one by its number in /prune-stats (/undo 41)."""
    live = runtime.session.context.live_pruns()
    if not live:
        return [Say("Nothing to undo: no prune is in effect.")]
    chosen = live if arguments == "all" else live[-1:]
    if arguments not in ("", "all"):
        chosen = [record for record in live if str(record.seq) == arguments]
    if not chosen:
        raise UsageError(
            f"no prune numbered {arguments} is in effect",
            "/prune-stats lists prunes by number; /restore restores single entries",
        )
    event = PrunReverted(tuple(record.seq for record in reversed(chosen)))
    thinking = thinking_cost(runtime, event)
    tokens = -(withheld_by(runtime.session.context, runtime.emit(event).seq) or 0)
    count = f"{len(chosen)} prune{'s' * (len(chosen) > 1)}"
    return [Say(f"Undid {count}, ~{short(tokens)} tokens restored.{thinking}")]
