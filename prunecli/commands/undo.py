"""/undo: undo prunes."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, weighed
from prunecli.context.impact import impact
from prunecli.context.labels import withheld_by
from prunecli.context.redo import undo, undoable
from prunecli.model.events import PrunApplied
from prunecli.plugins.features import available
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import in_a_sentence
from prunecli.util.errors import UsageError
from prunecli.util.figures import counted, short


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Undo the last prune, all (/undo all) or one by its number (/undo 41)."""
    live = undoable(runtime.session.context)
    if not live:
        return [Say("Nothing to undo: no prune is in effect.")]
    chosen = live if arguments == "all" else live[-1:]
    if arguments not in ("", "all"):
        chosen = [record for record in live if str(record.seq) == arguments]
    if not chosen and any(str(record.seq) == arguments for record in runtime.session.context.live_pruns()):
        raise UsageError(
            f"prune {arguments} left out old thinking, which can't come back",
            "newer thinking was written without it, and the model would lose that instead",
        )
    if not chosen:
        raise UsageError(
            f"no prune numbered {arguments} is in effect",
            available("/prune-stats lists prunes by number; /restore restores single entries"),
        )
    events = undo(runtime.session.context, chosen)
    effect = impact(runtime.session.context, events, runtime.policy.market)

    def act() -> Sequence[Effect]:
        first, *_ = [runtime.emit(event) for event in events]
        tokens = -(withheld_by(runtime.session.context, first.seq) or 0)
        pins = "".join(f" Pinned again: {', '.join(map(str, event.seqs))}." for event in events[1:])
        again, made = "", [record.event for record in chosen if isinstance(record.event, PrunApplied)]
        if runtime.choices.pruning and any(event.source == "strategy" for event in made):
            again = " They may be pruned automatically again after your next prompt; /pin keeps an entry."
        said = f"Undid {counted(len(chosen), 'prune')}, {short(tokens)} restored."
        return [Say(f"{said}{pins}{in_a_sentence(effect.thinking)}{again}")]

    return weighed(runtime, effect, "Undo", act)
