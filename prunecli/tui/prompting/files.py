"""The files that `@` offers: everything below the working directory that git would not ignore, up to a bound."""

import time
from collections.abc import Callable

from prunecli.sanitize import one_line

MOST_FILES = 50_000
MOST_SECONDS = 3.0


def listed(root: str, stop: Callable[[], bool] = lambda: False) -> tuple[list[str], bool]:
    """Paths relative to an absolute folder, folders with a slash at their end, and whether that is all of them.

    For a thread: it reads the disk. A name that can't be shown as it is (a control character) is left out.
    """
    from prunecli.tools.searching.walk import FOLDER, walk  # only where somebody types @

    found: list[str] = []
    until = time.monotonic() + MOST_SECONDS
    for number, (path, kind) in enumerate(walk(root)):
        if number % 200 == 199 and (time.monotonic() > until or stop()):
            return found, False
        if len(found) >= MOST_FILES:
            return found, False
        if one_line(path) == path:
            found.append(path + "/" if kind == FOLDER else path)
    return found, True
