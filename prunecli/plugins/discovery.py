"""Finds plugins without importing any: entry points of installed packages, and files of the user and of a project.

Every start looks for them, so it opens next to nothing: the entry points of a folder of packages are read again only
if the folder changed.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from prunecli.util.frozen import frozen
from prunecli.util.paths import Places, names_in
from prunecli.util.private_file import read_private, write_private
from prunecli.util.regular import open_regular

GROUP = "prunecli.plugins"
"""The group of entry points."""
PROJECT_FOLDER = Path(".prunecli", "plugins")
MAX_BYTES = 1_000_000
"""Maximum bytes of a project's plugin, of a package's entry points and of the cache."""

_MOST_FOLDERS = 40

Kind: TypeAlias = Literal["feature", "package", "file", "tool", "project"]


@frozen
class Found:
    """A plugin that was found. `source` tells people where; `target` is a reference or the path of a file.

    Of a project's plugin, `data` is the content, which needs approval, and `owner` is the folder to which an approval
    applies.
    """

    name: str
    kind: Kind
    source: str
    target: str
    owner: str = ""
    data: bytes = b""


def of_user(places: Places, search: Sequence[str] | None = None) -> Iterator[Found]:
    """Yield the plugins of packages on the search path (of this interpreter by default), and the user's files."""
    for package, name, target in _entry_points(places.plugins_file, sys.path if search is None else search):
        yield Found(name, "package", package, target)
    for kind, folder in _folders(places):
        for name in names_in(folder, ".py"):
            yield Found(name, kind, places.shown(folder / f"{name}.py"), str(folder / f"{name}.py"))


def _folders(places: Places) -> tuple[tuple[Kind, Path], ...]:
    return ("file", places.user_plugins), ("tool", places.user_tools)


def of_project(folders: Sequence[Path], cwd: Path) -> Iterator[Found]:
    """Yield the plugins in these folders of a project. One that cannot be read, or that is too large, has no data."""
    for owner in folders:
        for name in names_in(owner / PROJECT_FOLDER, ".py"):
            path = owner / PROJECT_FOLDER / f"{name}.py"
            try:
                with open_regular(path) as file:
                    data = file.read(MAX_BYTES + 1)
            except OSError:
                data = b""
            shown = os.path.relpath(path, cwd)
            yield Found(
                name, "project", shown, str(path), str(owner), data if len(data) <= MAX_BYTES else b""
            )


# Entry points ------------------------------------------------------------------------------------------------


def _entry_points(cache: Path, search: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the package, name and reference of each entry point, in the order of the search path and by name."""
    known, fresh = _cached(cache), dict[str, Any]()
    try:
        here = os.path.realpath(os.curdir)  # `python -m` searches it, but it is no folder of packages
    except OSError:
        here = ""  # the directory is gone, which the start will say
    for folder in dict.fromkeys(search):
        try:
            changed = os.stat(folder).st_mtime_ns if folder and os.path.realpath(folder) != here else 0
        except OSError:
            continue
        before = known.get(folder)
        if changed and before and before[0] == changed:
            fresh[folder] = before
        elif changed and os.path.isdir(folder):
            fresh[folder] = [changed, sorted(_declared_in(folder))]
    if any(known.get(folder) != found for folder, found in fresh.items()):
        others = {folder: found for folder, found in known.items() if folder not in fresh}
        _store(cache, dict([*others.items(), *fresh.items()][-_MOST_FOLDERS:]))
    return [(package, name, target) for found in fresh.values() for package, name, target in found[1]]


def _declared_in(folder: str) -> Iterator[list[str]]:
    """Yield the entry points that the packages in a folder declare. Damaged ones are passed over, as by pip."""
    try:
        names = [one.name for one in os.scandir(folder) if one.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return
    for name in names:
        try:
            with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8") as file:
                text = file.read(MAX_BYTES)
        except (OSError, UnicodeDecodeError):
            continue
        package = name.rpartition(".")[0].replace("-", " ", 1)
        yield from ([package, one, target] for one, target in entries(text))


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and references of our group in an entry_points.txt."""
    inside = False
    for line in text.splitlines() if GROUP in text else ():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line:
            name, _, target = line.partition("=")
            yield name.strip(), target.partition("[")[0].strip()


def _cached(path: Path) -> Mapping[str, Any]:
    """Return what the cache holds: for each folder its time and its entry points. A damaged cache holds nothing."""
    try:
        known = json.loads(read_private(path, MAX_BYTES, is_secret=False))
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) and all(map(_is_sound, known.values())) else {}


def _is_sound(found: Any) -> bool:
    match found:
        case [int(), [*each]]:
            return all(isinstance(one, list) and [type(part) for part in one] == [str] * 3 for one in each)
    return False


def _store(path: Path, found: Mapping[str, Any]) -> None:
    """Keep what was found, once there is a data folder. A failure only means that the next start reads it again."""
    if path.parent.is_dir():
        try:
            write_private(path, json.dumps(found).encode())
        except OSError:
            pass
