"""The terminal interface: a reader of the session's stream, and what the user does with it."""

from collections.abc import Sequence

from prunecli.runtime import Runtime


def run_tui(runtime: Runtime, *, prompt: str = "", notices: Sequence[str] = ()) -> int:
    """Shows the runtime on the terminal until the user leaves, and closes it; the exit code.

    `prompt` is said at once; `notices` are shown at the beginning. The terminal is restored whatever happens.
    """
    import asyncio
    import gc

    gc.disable()  # until the first frame: collecting what is still being imported finds nothing
    from prunecli.tui.app import run

    return asyncio.run(run(runtime, prompt, notices))
