"""The plain interface: line by line, for screen readers and terminals with few capabilities.

Append-only, without escape sequences. It reads the same event stream as the screen.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.runtime import Runtime


def run_plain(make: "Callable[[], Runtime]", *, prompt: str) -> int:
    """Run the plain interface until the user quits and return the exit code.

    `make` creates the runtime, which is closed at the end; its PrunecliError passes through. `prompt` is sent first.
    """
    from prunecli.front.plain.loop import talk

    return talk(make, prompt)
