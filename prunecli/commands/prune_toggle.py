"""/prune-toggle: turn automatic pruning on or off for this session."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.model.events import SettingChanged
from prunecli.runtime import Runtime


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Turn automatic pruning on or off for this session."""
    runtime.emit(SettingChanged("pruning.enabled", not runtime.choices.pruning))
    if runtime.choices.pruning:
        return [Say("Automatic pruning is on.")]
    return [Say("Automatic pruning is off. Existing prunes stay; /undo all restores them.")]
