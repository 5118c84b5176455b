"""/restore: restore pruned entries."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, weighed
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import NUMBERS, bring_back, carry_out, entries_of, in_a_sentence
from prunecli.util.figures import in_tokens

IN_PLACE = "in-place"
USAGE = f"/restore 17 20-24 restores at the end, /restore 17 {IN_PLACE} where it was"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Restore pruned entries: /restore 17 at the end, /restore 17 in-place where it was, at a price."""
    words = arguments.split()
    where_they_were = IN_PLACE in words
    seqs = entries_of(runtime, [word for word in words if word != IN_PLACE], f"{USAGE}; {NUMBERS}")
    plan, effect = bring_back(runtime, seqs, where_they_were=where_they_were)
    if not plan.allowed:
        return [Say(f"Nothing to restore: {plan.refusal}.")]
    back = f"~{in_tokens(max(0, -effect.freed))}"
    named = ", ".join(map(str, plan.entries))

    def act() -> Sequence[Effect]:
        carry_out(runtime, plan.events)
        if where_they_were:
            whole = f" with all of {', '.join(map(str, plan.whole))}" if plan.whole else ""
            return [
                Say(f"Restored in place and pinned: {named}{whole} ({back}).{in_a_sentence(effect.thinking)}")
            ]
        when = "after the current tool calls" if runtime.running else "at the end"
        return [Say(f"Restored {when} and pinned: {named} ({back}). No cache is lost.")]

    return weighed(runtime, effect, "Restore", act)
