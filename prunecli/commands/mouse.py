"""/mouse: handle the mouse in prunecli or leave it to the terminal."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, SetMouse
from prunecli.config.save import save
from prunecli.runtime import Runtime

NOT_IN = {"headless": "start prunecli without -p", "editor": "The editor draws the screen."}

_SAID = {
    True: "Mouse on: scroll, click and select here. /mouse off to turn it off.",
    False: "Mouse off: the terminal selects text as usual. /mouse on to use it here.",
}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Turn mouse support on or off: /mouse off; --save keeps it."""
    words = [word for word in arguments.split() if word != "--save"]
    if words not in (["on"], ["off"], []):
        return [Say(f"/mouse takes on or off, not {arguments!r}", "error")]
    on = words == ["on"] if words else not runtime.config.ui.mouse
    text = "true" if on else "false"
    runtime.use_config(runtime.config.with_value("ui.mouse", text))
    said = _SAID[on]
    if "--save" in arguments.split():
        note = save(runtime.setup.places, runtime.config, "ui.mouse", text)
        said += " Saved" + (f"; {note}." if note else ".")
    return [SetMouse(on), Say(said)]
