"""/redo: reapply what the last undo restored."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, refuse, weighed
from prunecli.context.impact import impact
from prunecli.context.labels import tokens_pruned_by
from prunecli.context.redo import redo, undone
from prunecli.model.events import PrunApplied
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import in_a_sentence
from prunecli.util.figures import counted, short


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Redo the prunes that the last /undo restored."""
    refuse("redo", arguments.split())
    context = runtime.session.context
    events = redo(runtime.policy.view(context), runtime.session.records)
    if not events:
        is_undone = undone(runtime.session.records)
        restored = "the restored entries are pinned, summarized or in progress"
        return [Say(f"Nothing to redo: {restored if is_undone else 'no /undo since the last prune'}.")]
    effect = impact(context, events, runtime.policy.market)

    def act() -> Sequence[Effect]:
        records = [runtime.emit(event) for event in events]
        prunes = [record for record in records if isinstance(record.event, PrunApplied)]
        tokens = sum(tokens_pruned_by(context, record.seq) or 0 for record in prunes)
        said = f"Redid {counted(len(prunes), 'prune')}, {short(tokens)} pruned."
        return [Say(f"{said}{in_a_sentence(effect.thinking)}")]

    return weighed(runtime, effect, "Redo", act)
