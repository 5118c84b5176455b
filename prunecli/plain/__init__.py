"""The plain interface: lines in, lines out, for screen readers and terminals that can do no more.

Append-only and without a single escape sequence. It reads the same stream as the screen does.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prunecli.runtime import Runtime


def run_plain(make: "Callable[[], Runtime]", *, prompt: str = "") -> int:
    """Talks in lines until the user leaves; the exit code. `make` makes the runtime, which is closed at the end.

    Raises PrunecliError of `make`. `prompt` is said first.
    """
    from prunecli.plain.talk import talk

    return talk(make, prompt)
