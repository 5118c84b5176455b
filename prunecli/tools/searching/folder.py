"""The first names in a folder: sorted, folders marked with a slash."""

import heapq
import os
from collections.abc import Callable, Iterable

from prunecli.tools.searching.names import shown_name


def names_in(
    path: str, limit: int, leave_out: Callable[[str, bool], bool] = lambda _name, _is_folder: False
) -> tuple[list[str], int]:
    """The first `limit` names, and how many more there are. Raises OSError."""
    more = 0

    def entries() -> Iterable[tuple[str, bool]]:
        nonlocal more
        with os.scandir(path) as found:
            for entry in found:
                is_folder = _is_folder(entry)
                if not leave_out(entry.name, is_folder):
                    more += 1
                    yield entry.name, is_folder

    kept = heapq.nsmallest(limit, entries())
    names = [shown_name(name) + ("/" if is_folder else "") for name, is_folder in kept]
    return names, more - len(names)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads nowhere readable
