"""Run one command with a network list and print what it said: `python -m tests.sandbox.run_elsewhere FOLDER`.

A program of its own, so that it can be run by an interpreter in another place.
"""

import asyncio
import sys
from pathlib import Path

from tests.sandbox.confining import boxed, chosen_here


async def said(folder: Path) -> str:
    """What a command in `folder` says, in a sandbox with a list of hosts."""
    with boxed(folder, chosen_here(), network=("good.example",)) as box:
        text, code = await box.run("echo in > in.txt && cat in.txt && echo $HTTP_PROXY")
        return f"{code} {text}"


if __name__ == "__main__":
    print(asyncio.run(said(Path(sys.argv[1]))))
