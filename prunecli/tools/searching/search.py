"""Runs a search for a few seconds at most: for lines in a process that can be killed, for names in a thread."""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from prunecli.tools.files.in_thread import in_thread
from prunecli.tools.processes.command import Ended, run
from prunecli.tools.searching.glob import PathGlob
from prunecli.tools.searching.line_search import MAX_COLUMNS
from prunecli.tools.searching.names import ignored_note
from prunecli.tools.searching.walk import walk
from prunecli.util.errors import ToolError
from prunecli.util.programs import find_outside

MAX_SECONDS = 5.0

_PACKAGE_ROOT = str(Path(__file__).parents[3])
_START = (
    "import sys; sys.path.append(sys.argv.pop(1));"
    " from prunecli.tools.searching.line_search import main; main()"
)

_RIPGREP_FLAGS = (
    "--no-config",
    "--hidden",
    "--glob=!.git",
    "--no-ignore-dot",
    "--no-ignore-global",
    "--no-require-git",
    "--no-messages",
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--column",
    "--null",
    "--color=never",
    f"--max-columns={MAX_COLUMNS}",
    "--max-columns-preview",
    "--no-context-separator",
    "--encoding=auto",
    "--sort=path",
)
"""Options that make ripgrep find the same files and lines as `line_search`, in the same order and form. A test
compares them."""


def glob_of(text: str) -> PathGlob:
    """Return a glob of the model. Raises ToolError."""
    try:
        return PathGlob(text)
    except ValueError as error:
        raise ToolError(str(error)) from None


class Over:
    """The end of a search in a thread: once its call is canceled or its time is up."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._until = time.monotonic() + MAX_SECONDS
        self.timed_out = False

    def __call__(self) -> bool:
        """Return whether to end the search."""
        self.timed_out = time.monotonic() > self._until
        return self.timed_out or self._stop.is_set()


async def without_ripgrep(
    arguments: list[str], root: str, env: Mapping[str, str], take: Callable[[bytes], bool]
) -> Ended:
    """Run `line_search`. Raises ToolError if it can't be started."""
    argv = [sys.executable, "-I", "-S", "-c", _START, _PACKAGE_ROOT, *arguments]
    return await run(argv, cwd=Path(root), env=env, take=take, time_limit=MAX_SECONDS, grace=0)


async def ignored_in(root: str) -> str:
    """Return the note on the paths that searches skip by ignore rules, for a search that found nothing."""
    names = list[str]()
    await in_thread(lambda stop: deque(walk(root, ignored=names, over=Over(stop)), 0))
    return ignored_note(names, "; name one as path to search it")


async def ripgrep(
    program: str, arguments: list[str], root: str, env: Mapping[str, str], take: Callable[[bytes], bool]
) -> Ended:
    """Run ripgrep with the flags shared by all searches. Raises ToolError if it can't be started."""
    argv = [program, *_RIPGREP_FLAGS, *arguments]
    return await run(argv, cwd=Path(root), env=env, take=take, time_limit=MAX_SECONDS, grace=0)


def ripgrep_of(env: Mapping[str, str], workspace: Path) -> str | None:
    """Return the path of ripgrep, or None. A ripgrep inside the workspace is not used, because it may come with the
    repository."""
    return find_outside(env.get("PATH", os.defpath), "rg", str(workspace))
