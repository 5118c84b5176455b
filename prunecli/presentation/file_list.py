"""The files offered for `@`: everything below the working directory that git would not ignore, up to a limit."""

import time
from collections.abc import Callable

from prunecli.sanitize import one_line

MOST_FILES = 250_000
MOST_SECONDS = 3.0
MADE_BY_TOOLS = frozenset(
    "__pycache__ node_modules .venv .tox .nox .hypothesis .mypy_cache .pytest_cache .ruff_cache .hg .svn".split()  # noqa: SIM905
)
"""Names left out even if no .gitignore lists them."""


def listed(root: str, stop: Callable[[], bool] = lambda: False) -> tuple[list[str], bool]:
    """List paths relative to an absolute folder, and report whether the list is complete.

    Folders end with a slash. Names with control characters are left out. Reads the disk: call it in a thread.
    """
    from prunecli.tools.searching.walk import FOLDER, walk  # only needed once the user types @

    found: list[str] = []
    until = time.monotonic() + MOST_SECONDS
    for number, (path, kind) in enumerate(walk(root, MADE_BY_TOOLS)):
        if number % 200 == 199 and (time.monotonic() > until or stop()):
            return found, False
        if len(found) >= MOST_FILES:
            return found, False
        if one_line(path) == path:
            found.append(path + "/" if kind == FOLDER else path)
    return found, True
