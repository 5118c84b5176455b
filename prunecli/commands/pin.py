"""/pin: protect entries from pruning."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.context.manual_edits import pinnable
from prunecli.model.events import Pinned
from prunecli.runtime import Runtime
from prunecli.runtime.entry_numbers import NUMBERS, entries_of

USAGE = f"/pin 17 20-24 or /pin off 17; {NUMBERS}"


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Protect entries from pruning: /pin 17 20; /pin off 17 unpins."""
    words, context = arguments.split(), runtime.session.context
    off = bool(words) and words[0] == "off"
    if not words:
        pinned = sorted(context.pinned)
        return [Say(f"Pinned: {', '.join(map(str, pinned))}" if pinned else "Nothing is pinned.")]
    found = entries_of(runtime, words[1:] if off else words, USAGE)
    seqs = tuple(seq for seq in found if seq in context.pinned) if off else pinnable(context, found)
    if not seqs:
        why = "not pinned" if off else "strategies never prune this"
        return [Say(f"Nothing to {'unpin' if off else 'pin'}: {why}.")]
    runtime.emit(Pinned(seqs, not off))
    named = ", ".join(map(str, seqs))
    return [
        Say(
            f"Unpinned: {named}."
            if off
            else f"Pinned: {named}. Never pruned automatically; /pin off to undo."
        )
    ]
