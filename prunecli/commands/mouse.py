"""/mouse: handle the mouse in prunecli or leave it to the terminal."""

from collections.abc import Sequence

from prunecli.commands.command import Effect, Say, SetMouse, kept, on_or_off
from prunecli.runtime import Runtime

NOT_IN = {"headless": "start prunecli without -p", "editor": "The editor draws the screen."}

_SAID = {
    True: "Mouse on: scroll, click and select here. /mouse off to turn it off.",
    False: "Mouse off: the terminal selects text as usual. /mouse on to use it here.",
}


def run(runtime: Runtime, arguments: str) -> Sequence[Effect]:
    """Turn mouse support on or off: /mouse off; --save keeps it."""
    on, keep = on_or_off("mouse", arguments, now=runtime.config.ui.mouse)
    text = "true" if on else "false"
    runtime.use_config(runtime.config.with_value("ui.mouse", text))
    return [SetMouse(on), Say(f"{_SAID[on]} {kept(runtime, 'ui.mouse', text)}" if keep else _SAID[on])]
