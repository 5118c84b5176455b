"""/prune-toggle: automatic pruning on or off for this session."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Switch automatic pruning on or off for this session."""
    if runtime.toggle_pruning():
        return [Say("Pruning is on.")]
    return [
        Say("Pruning is off: no new edits by a strategy. What was pruned stays (/undo all brings it back).")
    ]
