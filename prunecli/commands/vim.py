"""/vim: edit the prompt with vim's keys."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Reconfigured, Say
from prunecli.config.save import save
from prunecli.runtime import Runtime

NOT_IN = {"headless": "start prunecli without -p", "editor": "The editor has its own keys."}

_SAID = {
    "vim": "Vim keys: Esc for normal mode, i to insert. /vim off for plain keys.",
    "plain": "Plain keys. /vim on for vim's.",
}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Turn vim's keys in the prompt on or off: /vim off; --save keeps it."""
    words = [word for word in arguments.split() if word != "--save"]
    if words not in (["on"], ["off"], []):
        return [Say(f"/vim takes on or off, not {arguments!r}", "error")]
    on = words == ["on"] if words else runtime.config.ui.editing != "vim"
    editing = "vim" if on else "plain"
    runtime.use_config(runtime.config.with_value("ui.editing", editing))
    said = _SAID[editing]
    if "--save" in arguments.split():
        note = save(runtime.setup.places, runtime.config, "ui.editing", editing)
        said += " Saved" + (f"; {note}." if note else ".")
    return [Reconfigured(), Say(said)]
