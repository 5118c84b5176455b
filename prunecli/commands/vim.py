"""/vim: edit the prompt with vim's keys."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Reconfigured, Say, kept, on_or_off
from prunecli.runtime import Runtime

NOT_IN = {"headless": "start prunecli without -p", "editor": "The editor has its own keys."}

_SAID = {
    "vim": "Vim keys: Esc for normal mode, i to insert. /vim off for plain keys.",
    "plain": "Plain keys. /vim on for vim's.",
}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Turn vim's keys in the prompt on or off: /vim off; --save keeps it."""
    on, keep = on_or_off("vim", arguments, now=runtime.config.ui.editing == "vim")
    editing = "vim" if on else "plain"
    runtime.use_config(runtime.config.with_value("ui.editing", editing))
    said = f"{_SAID[editing]} {kept(runtime, 'ui.editing', editing)}" if keep else _SAID[editing]
    return [Reconfigured(), Say(said)]
