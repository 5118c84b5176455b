"""The files that `@` offers: everything below the working directory that git would not ignore, up to a bound."""

import os
import re
import time
from collections.abc import Callable

from prunecli.sanitize import one_line

MOST_FILES = 50_000
MOST_SECONDS = 3.0
MADE_BY_TOOLS = frozenset(
    "__pycache__ node_modules .venv .tox .nox .hypothesis .mypy_cache .pytest_cache .ruff_cache .hg .svn".split()  # noqa: SIM905
)
"""Names that nobody types `@` for, also where no .gitignore says so."""


def listed(root: str, stop: Callable[[], bool] = lambda: False) -> tuple[list[str], bool]:
    """Paths relative to an absolute folder, folders with a slash at their end, and whether that is all of them.

    For a thread: it reads the disk. A name that can't be shown as it is (a control character) is left out.
    """
    from prunecli.tools.searching.walk import FOLDER, walk  # only where somebody types @

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


_MENTION = re.compile(r"(?:^|(?<=[\s(\[{\"'`,]))@([^\s@]+)")


def as_paths(text: str, root: str) -> str:
    """A prompt in which each `@` before the path of something that is there is left out: the model gets a path that
    its tools take."""

    def path(found: re.Match[str]) -> str:
        named = found[1].rstrip(".,;:!?)]}\"'`")
        is_there = bool(named) and "\0" not in named and os.path.lexists(os.path.join(root, named))
        return found[1] if is_there else found[0]

    return _MENTION.sub(path, text) if "@" in text else text
