"""/restore: pruned entries come back."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.model.events import PrunReverted
from prunecli.runtime import Runtime
from prunecli.runtime.entries import entries_of


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Bring pruned entries back and pin them: /restore 17."""
    context = runtime.session.context
    seqs = entries_of(runtime, arguments.split())
    targets: list[int] = []
    for seq in seqs:
        head = context.entries[seq].exchange
        if head and context.dropped(head):
            targets.append(head.seq)
        if context.edits_of(seq):
            targets.append(seq)
    if not targets:
        return [Say("Nothing to restore: these entries are whole.")]
    before = context.counts.context_tokens
    runtime.emit(PrunReverted(tuple(dict.fromkeys(targets))))
    more = max(0, context.counts.context_tokens - before)
    return [Say(f"Restored and pinned: {', '.join(map(str, seqs))}; ~{more:,} tokens are back.")]
