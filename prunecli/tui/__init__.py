"""The terminal interface: a reader of the session's stream, and what the user does with it.

Nothing but what the first frame needs may be imported before it: tests/tui/test_start.py holds the list.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.paths import Places

if TYPE_CHECKING:
    from prunecli.runtime import Runtime

FRAMES_A_SECOND = "120"
"""The most that Textual draws; with its 60 a key that comes right after another waits up to 17 ms for its turn."""


def run_tui(
    make: "Callable[[], Runtime]",
    *,
    places: Places,
    cwd: Path,
    environ: Mapping[str, str],
    prompt: str = "",
    inline: bool = False,
) -> int:
    """Shows the terminal interface until the user leaves; the exit code.

    `make` makes the runtime; it is called in a thread when the prompt is on the screen already, and what it raises
    (PrunecliError) is raised from here when the terminal is as it was. `environ` is
    what the user's editor gets, less the credentials. `prompt` is said as soon as it can be.
    `inline`: below the shell's prompt, and the conversation stays in the scrollback. The runtime is closed at
    the end, the terminal restored whatever happens.
    """
    import sys

    from prunecli.tui.first_keys import kept

    with kept(sys.stdin.fileno()) as keys:
        import asyncio
        import gc
        import os

        from prunecli.tui.surroundings import check

        check(os.environ)
        os.environ.setdefault("TEXTUAL_FPS", FRAMES_A_SECOND)
        gc.disable()  # until the first frame: collecting what is still being imported finds nothing
        from prunecli.tui.app import run

        return asyncio.run(run(make, places, cwd, environ, prompt, keys, inline=inline))
