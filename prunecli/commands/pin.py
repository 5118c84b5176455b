"""/pin: entries that nothing may prune."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.model.events import Pinned
from prunecli.runtime import Runtime
from prunecli.runtime.entries import entries_of


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Keep entries from being pruned: /pin 17 20; /pin off 17 lets them go again."""
    words = arguments.split()
    off = bool(words) and words[0] == "off"
    if not words:
        pinned = sorted(runtime.session.context.pinned)
        return [Say(f"Pinned: {', '.join(map(str, pinned))}" if pinned else "Nothing is pinned.")]
    seqs = entries_of(runtime, words[1:] if off else words)
    runtime.emit(Pinned(seqs, not off))
    named = ", ".join(map(str, seqs))
    return [
        Say(f"No longer pinned: {named}" if off else f"Pinned: {named}. No strategy and no prun touches it.")
    ]
