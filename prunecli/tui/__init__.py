"""The terminal interface: shows the session's event stream and passes user input to the runtime.

Before the first frame, import only the modules that the frame needs; tests/tui/test_start.py has the list.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prunecli.util.lazy import lazy
from prunecli.util.paths import Places

if TYPE_CHECKING:
    import asyncio
    import gc
    import os
    import sys

    from prunecli.runtime import Runtime
    from prunecli.tui import app, first_keys, terminal_environment
else:
    app = lazy("prunecli.tui.app")
    asyncio = lazy("asyncio")
    first_keys = lazy("prunecli.tui.first_keys")
    gc = lazy("gc")
    os = lazy("os")
    sys = lazy("sys")
    terminal_environment = lazy("prunecli.tui.terminal_environment")

FRAMES_A_SECOND = "120"
"""Maximum frame rate. At Textual's default of 60, a key right after another waits up to 17 ms."""


def run_tui(
    make: "Callable[[], Runtime]",
    *,
    places: Places,
    cwd: Path,
    environ: Mapping[str, str],
    prompt: str,
    inline: bool,
) -> int:
    """Run the terminal interface until the user leaves, and return the exit code.

    `make` creates the runtime. It is called in a thread once the prompt is on the screen; a PrunecliError from it is
    raised here after the terminal is restored. `environ` is passed to the user's editor, without credentials.
    `prompt` is submitted as soon as possible. `inline`: draw below the shell's prompt and leave the conversation in
    the scrollback. The runtime is always closed and the terminal always restored.
    """

    with first_keys.kept(sys.stdin.fileno()) as keys:
        terminal_environment.check(os.environ)
        os.environ.setdefault("TEXTUAL_FPS", FRAMES_A_SECOND)
        gc.disable()  # until the first frame: a garbage collection during imports finds nothing

        return asyncio.run(app.run(make, places, cwd, environ, prompt, keys, inline=inline))
