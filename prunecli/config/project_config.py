"""Project configuration: what .prunecli/config.toml may set, and where to look for it.

A project file may come from someone else. It is read only in a trusted directory. Even then it can only set options
that declare it (`by_project`), and it cannot loosen the user's settings. Trying is an error, so that nobody relies on
a setting without effect.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prunecli.config.declared import Key
from prunecli.tools.registry import canonical
from prunecli.util.by_project import Allowed, ByProject

PROJECT_FILE = Path(".prunecli", "config.toml")

STRICTEST_FIRST: Mapping[Key, tuple[Any, ...]] = {
    ("permissions", "mode"): ("plan", "ask", "edits", "auto"),
    ("sandbox", "mode"): ("require", "auto", "off"),
    ("sandbox", "network"): (False, True),
}
"""Keys that a project can only make stricter."""

LOOSER_THAN_DEFAULT: Mapping[Key, tuple[Any, ...]] = {
    ("permissions", "mode"): ("edits", "auto"),
    ("sandbox", "mode"): ("off",),
    ("sandbox", "network"): (True,),
}
"""Values of those keys that could never take effect: an error in a project file."""

ADDED_UP: frozenset[Key] = frozenset({("permissions", name) for name in ("allow", "ask", "deny")})
"""Lists to which each file adds: no file can remove another's deny rule."""


def refusal(key: Key, value: Any, by_project: ByProject | None) -> str:
    """Return the reason why a project file may not set this, or "". `by_project` is what the option declares."""
    if not isinstance(by_project, Allowed):
        why = by_project.why if by_project else "this option is only the user's"
        return f"not allowed in a project file: {why}"
    if value in LOOSER_THAN_DEFAULT.get(key, ()):
        return f"not allowed in a project file: {str(value).lower()} is less strict than the default"
    return ""


def is_stricter(key: Key, value: Any, current: Any) -> bool:
    if key == ("tools", "enabled"):
        return set(map(canonical, value)) < set(map(canonical, current))
    order = STRICTEST_FIRST.get(key)
    if key == ("sandbox", "network") and isinstance(value, tuple):
        return current is True or (isinstance(current, tuple) and set(value) < set(current))
    if order is None or isinstance(current, tuple):
        return order is None or value is False
    return order.index(value) < order.index(current)


def project_files(cwd: Path) -> tuple[Path, ...]:
    """Return the possible project files for `cwd`, from the repository's root down to `cwd`.

    The root is the nearest folder with a `.git`; outside a repository, only `cwd` is used. Links are resolved first,
    so a link into a repository counts as that repository. Trust in a directory covers the content of these files.
    """
    here = cwd.resolve()
    folders = [here]
    for folder in (here, *here.parents):
        if folder not in folders:
            folders.append(folder)
        if os.path.exists(folder / ".git"):
            return tuple(_without_links_out([one / PROJECT_FILE for one in reversed(folders)], folder))
    return tuple(_without_links_out([here / PROJECT_FILE], here))


def _without_links_out(paths: Sequence[Path], root: Path) -> list[Path]:
    """Return the paths without those that lead outside the project through a link, which are refused."""
    return [path for path in paths if Path(os.path.realpath(path)).is_relative_to(root)]
