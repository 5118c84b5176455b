"""The plain interface: line by line, for screen readers and terminals with few capabilities.

Append-only, without escape sequences. It reads the same event stream as the screen.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from prunecli.util.lazy import lazy

if TYPE_CHECKING:
    from prunecli.front.plain import loop
    from prunecli.runtime import Runtime
else:
    loop = lazy("prunecli.front.plain.loop")


def run_plain(make: "Callable[[], Runtime]", *, prompt: str) -> int:
    """Run the plain interface until the user quits and return the exit code.

    `make` creates the runtime, which is closed at the end; its PrunecliError passes through. `prompt` is sent first.
    """

    return loop.talk(make, prompt)
