"""/prune: prune now, without a minimum and without the cost gate, or preview it; or prune entries by number."""

from collections.abc import Sequence
from dataclasses import replace

from prunecli.commands.command import Effect, Say, weighed
from prunecli.context.impact import impact
from prunecli.context.labels import act_words, tokens_pruned_by
from prunecli.context.manual_edits import plan_inputs, plan_range
from prunecli.model.events import PrunApplied
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import NUMBERS, carry_out, entries_of
from prunecli.util.errors import UsageError
from prunecli.util.figures import counted, short

USAGE = (
    "/prune prunes what the strategy allows, /prune preview shows it, /prune 17 20-24 prunes these entries, "
    "/prune 17 20-24 memo TEXT leaves a memo in their place, /prune 17 input shortens the input of its calls"
)


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Prune what the strategy allows (preview shows it), or entries: /prune 17 20-24 [memo TEXT | input]."""
    if arguments not in ("", "preview"):
        named, marker, memo = f"{arguments} ".partition(" memo ")
        if marker and not memo.strip():
            raise UsageError(f"/prune {arguments}: the memo has no text", USAGE)
        words = named.replace(",", " ").split()
        if words[-1:] == ["input"] and not marker:
            return _by_number(runtime, words[:-1], "", of_calls=True)
        return _by_number(runtime, words, memo.strip())
    context = runtime.session.context
    events, note = runtime.policy.forced(context)
    if not events:
        return [Say(f"Nothing to prune: {note or 'no tool results yet'}")]
    results = sum(event.messages_removed for event in events)
    amount = counted(results, "result")
    found = impact(context, events, runtime.policy.market)
    if arguments:
        return [Say(f"/prune would prune {amount}. {act_words(found, runtime.policy.limit)}")]

    def act() -> Sequence[Effect]:
        for event in events:
            runtime.emit(replace(event, reason="the user asked for it"))
        shown = short(
            sum(tokens_pruned_by(context, record.seq) or 0 for record in runtime.session.records[begun:])
        )
        them = "it" if results == 1 else "them"
        said = f"Pruned {shown} in {amount}. /undo to restore {them}."
        if len(events) > 1:
            said = f"Pruned {shown} in {amount}. {len(events)} prunes: /undo once for each to restore {them}."
        return [Say(said)]

    begun = len(runtime.session.records)
    return weighed(runtime, found, "Prune", act)


def _by_number(
    runtime: Runtime, words: Sequence[str], memo: str, *, of_calls: bool = False
) -> Sequence[Effect]:
    """Prune entries, also those that are protected from strategies. A memo with text takes their place. `of_calls`:
    only the inputs of their calls."""
    seqs = entries_of(runtime, words, f"{USAGE}; {NUMBERS}")
    view = runtime.policy.view(runtime.session.context)
    plan = plan_inputs(view, sorted(seqs)) if of_calls else plan_range(view, sorted(seqs), memo)
    if not plan.allowed:
        return [Say(f"Nothing to prune: {plan.refusal}.")]

    def act() -> Sequence[Effect]:
        begun = len(runtime.session.records)
        carry_out(runtime, plan.events)
        made = [
            record.seq for record in runtime.session.records[begun:] if isinstance(record.event, PrunApplied)
        ]
        shown = sum(tokens_pruned_by(runtime.session.context, seq) or 0 for seq in made)
        return [Say(f"Pruned {short(shown)}: {plan.what}. /undo to restore it.")]

    return weighed(runtime, impact(runtime.session.context, plan.events, runtime.policy.market), "Prune", act)
