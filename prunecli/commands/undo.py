"""/undo: undo prunes, or take the last summary back."""

from collections.abc import Sequence

from prunecli.commands.command import WORKING, Effect, InThread, Say, weighed
from prunecli.context.impact import impact
from prunecli.context.labels import tokens_pruned_by
from prunecli.context.redo import undo, undo_of_summary, undoable
from prunecli.context.state import Context
from prunecli.context.whole_acts import between
from prunecli.model.events import PrunApplied
from prunecli.plugins.features import available
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import foreseen, in_a_sentence
from prunecli.util.errors import UsageError
from prunecli.util.figures import counted, short


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Undo the last prune or summary, all prunes (/undo all) or one by its number (/undo 41)."""
    context = runtime.session.context
    live, summary = undoable(context), context.summaries[-1].summary.seq if context.summaries else -1
    if str(summary) == arguments or (not arguments and summary > max([one.seq for one in live], default=-1)):
        if runtime.running:
            return [WORKING]
        return [InThread("Weighing the undo", lambda: _of_summary(runtime))]
    if not live:
        return [Say("Nothing to undo: no prune and no summary is in effect.")]
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
            _older(context, arguments)
            or available("/prune-stats lists prunes by number; /restore restores single entries"),
        )
    events = undo(runtime.session.context, chosen)
    effect = impact(runtime.session.context, events, runtime.policy.market)

    def act() -> Sequence[Effect]:
        first, *_ = [runtime.emit(event) for event in events]
        tokens = -(tokens_pruned_by(runtime.session.context, first.seq) or 0)
        pins = "".join(f" Pinned again: {', '.join(map(str, event.seqs))}." for event in events[1:])
        again, made = "", [record.event for record in chosen if isinstance(record.event, PrunApplied)]
        if runtime.choices.pruning and any(event.source == "strategy" for event in made):
            again = " They may be pruned automatically again once the cache is cold; /pin keeps an entry."
        said = f"Undid {counted(len(chosen), 'prune')}, {short(tokens)} restored."
        return [Say(f"{said}{pins}{in_a_sentence(effect.thinking)}{again}")]

    return weighed(runtime, effect, "Undo", act)


def _older(context: Context, number: str) -> str:
    """Return the way to undo a summary that a later one has replaced or followed; "" for any other number."""
    older = [one.summary.seq for one in context.summaries if str(one.summary.seq) == number]
    return f"undo the newer summary first: /undo {context.summaries[-1].summary.seq}" if older else ""


def _of_summary(runtime: Runtime) -> Sequence[Effect]:
    """Take the newest summary back, unless the context would then be summarized again. Runs in a thread."""
    policy, context = runtime.policy, runtime.session.context
    events = undo_of_summary(context, runtime.session.records)
    later = foreseen(runtime, events)
    tokens = later.counts.context_tokens
    if tokens > policy.limit:
        why = f"{short(tokens)} would be over {short(policy.limit)}, where it is {policy.limit_words}"
        return [Say(f"The summary stays: {why}. Prune first, or /rewind to before it.", "warning")]
    effect = between(context, later, policy.market)

    def act() -> Sequence[Effect]:
        for event in events:
            runtime.emit(event)
        back = runtime.session.context.counts.context_tokens - effect.before
        return [Say(f"Summary undone, {short(back)} restored.{in_a_sentence(effect.thinking)}")]

    return weighed(runtime, effect, "Undo", act)
