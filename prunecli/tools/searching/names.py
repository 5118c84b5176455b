"""Names in results: escaped to one line of valid text, and the first names in a folder."""

import heapq
import os
import re
from collections.abc import Callable, Iterable, Sequence

from prunecli.model.codec import well_formed

_IGNORED_SHOWN = 10
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def shown_name(name: str) -> str:
    """Return the name with control characters as escapes and invalid bytes as U+FFFD."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", well_formed(name))


def names_in(
    path: str, limit: int, leave_out: Callable[[str, bool], bool] = lambda _name, _is_folder: False
) -> tuple[list[str], int]:
    """Return the first `limit` names, and how many more there are. Raises OSError."""
    more = 0

    def entries() -> Iterable[tuple[str, bool]]:
        nonlocal more
        with os.scandir(path) as found:
            for entry in found:
                folder = is_folder(entry)
                if not leave_out(entry.name, folder):
                    more += 1
                    yield entry.name, folder

    kept = heapq.nsmallest(limit, entries())
    names = [shown_name(name) + ("/" if folder else "") for name, folder in kept]
    return names, more - len(names)


def ignored_note(names: Sequence[str], way: str = "") -> str:
    """Return the note that counts ignored names and shows the first ones; "" for none."""
    shown = ", ".join(map(shown_name, sorted(names)[:_IGNORED_SHOWN])) + ", …" * (len(names) > _IGNORED_SHOWN)
    return f"[{len(names)} ignored: {shown}{way}]" if names else ""


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False  # the target is missing or unreadable
