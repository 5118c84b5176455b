"""/prune-toggle: turn automatic pruning on or off for this session."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say
from prunecli.model.events import SettingChanged
from prunecli.runtime import Runtime
from prunecli.util.errors import UsageError


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Turn automatic pruning on or off for this session: /prune-toggle, /prune-toggle off."""
    wanted = {"": not runtime.choices.pruning, "on": True, "off": False}
    if arguments not in wanted:
        raise UsageError(f"/prune-toggle {arguments}: expected nothing, on or off")
    runtime.emit(SettingChanged("pruning.enabled", wanted[arguments]))
    if runtime.choices.pruning:
        return [Say("Automatic pruning is on.")]
    return [Say("Automatic pruning is off. Existing prunes stay; /undo all restores them.")]
