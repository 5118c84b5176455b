"""The places of definitions: a project's folders, if it is trusted, then the user's. The first definition of a name
wins.

Each file is parsed only when its content has changed; checking again takes one listing of the folders. Only regular
files are opened, and a project's links may not leave the project.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Generic, Literal, TypeAlias, TypeVar

from prunecli.agent.front_matter import MAX_BYTES
from prunecli.config.claude_plugins import ClaudePlugin, Kind, usable
from prunecli.model.requests import PREAMBLE
from prunecli.runtime.host import Host
from prunecli.safety.project_settings import down_to
from prunecli.util.errors import ConfigError
from prunecli.util.frozen import frozen
from prunecli.util.sanitize import one_line

Owner: TypeAlias = Literal["project", "user", "prunecli"]
DefinitionT = TypeVar("DefinitionT")

MAX_FILES = 2_000
"""Maximum files and folders listed below one folder."""
_MAX_DEPTH = 4
_LEFT_OUT = frozenset({"node_modules", "__pycache__"})
_OUTSIDE = "a link that leads outside the project"


@frozen
class Folder:
    """A folder of definitions. `root` is the project that its links may not leave; None allows any link. `prefix` is
    put before the names of its definitions."""

    path: Path
    owner: Owner
    root: Path | None = None
    prefix: tuple[str, ...] = ()


@frozen
class Found:
    """A file with a definition. `stamp` changes with the content: mtime in ns, size in bytes, inode."""

    path: Path
    folder: Folder
    stamp: tuple[int, int, int]

    @property
    def parts(self) -> tuple[str, ...]:
        """The folder's prefix and the parts of its path from there, without the suffix: `git/commit.md` is ("git",
        "commit")."""
        return (*self.folder.prefix, *self.path.relative_to(self.folder.path).with_suffix("").parts)


@frozen
class Shelved(Generic[DefinitionT]):
    """The definitions, in order of precedence, and a line for each unused file."""

    definitions: tuple[DefinitionT, ...] = ()
    problems: tuple[str, ...] = ()


@frozen
class _Refused:
    """An unused file; `line` names the file and the reason."""

    line: str


def folders(
    kind: Kind, project: Sequence[Path], config: Path, home: Path, plugins: Sequence[ClaudePlugin] = ()
) -> tuple[Folder, ...]:
    """Return the folders of a kind, by precedence: those of the project, nearest first, then the user's, then those
    of plugins, whose commands are called `/PLUGIN:NAME`.

    `project` are the folders from its root down to the working directory, () if it is not trusted.
    """
    users = [config / kind, home / ".claude" / kind]
    of_project = [
        Folder(folder / hidden / kind, "project", project[0])
        for folder in reversed(project)
        for hidden in (".prunecli", ".claude")
        if folder / hidden / kind not in users
    ]
    of_plugins = [
        Folder(path, "user", plugin.root, (plugin.name,) if kind == "commands" else ())
        for plugin in plugins
        for path in plugin.folders(kind)
    ]
    return (*of_project, *(Folder(path, "user") for path in users), *of_plugins)


def none_defined(host: Host, kind: Kind) -> bool:
    """Return whether the session of a host is new and nobody defines anything of a kind. Its code is then not
    imported, which would take a tenth of the time to the first request."""
    setup, places = host.setup, host.setup.places
    if PREAMBLE in host.session.context.settings or usable(places, setup.config.plugins.disabled):
        return False
    project = down_to(setup.cwd) if host.gatekeeper.trusted else ()
    return not any(os.path.lexists(one.path) for one in folders(kind, project, places.config, places.home))


class Shelf(Generic[DefinitionT]):
    """The definitions of one kind, made by `parse`, which raises ConfigError for a malformed file.

    `marker` is the name of the file that makes a folder a definition, such as SKILL.md; without one, every Markdown
    file is a definition.
    """

    def __init__(self, parse: Callable[[Found], DefinitionT], marker: str = "") -> None:
        self._parse = parse
        self._marker = marker
        self._known: dict[Found, DefinitionT | _Refused] = {}
        self._last: tuple[tuple[Found | _Refused, ...], Shelved[DefinitionT]] = ((), Shelved())

    def look(self, folders: Sequence[Folder]) -> Shelved[DefinitionT]:
        """Read files that are new or changed. If there are none, return the same value."""
        found = tuple(one for folder in folders for one in _walk(folder, self._marker))
        last = self._last  # other threads look as well, so only whole results are replaced
        if found != last[0]:
            known = {one: self._definition(one) for one in found if isinstance(one, Found)}
            made = [known[one] if isinstance(one, Found) else one for one in found]
            problems = tuple(one.line for one in made if isinstance(one, _Refused))
            last = found, Shelved(tuple(one for one in made if not isinstance(one, _Refused)), problems)
            self._known, self._last = known, last
        return last[1]

    def _definition(self, found: Found) -> DefinitionT | _Refused:
        if (known := self._known.get(found)) is not None:
            return known
        if found.stamp[1] > MAX_BYTES:
            return _refused(found.path, f"larger than {MAX_BYTES // 1000:,} KB")
        try:
            return self._parse(found)
        except ConfigError as error:
            return _Refused(one_line(error.message))


def _walk(folder: Folder, marker: str) -> Iterator[Found | _Refused]:
    """Yield the files of definitions below a folder, sorted, and a line for each refused file."""
    ahead, seen = [(str(folder.path), 0)], 0
    while ahead:
        here, depth = ahead.pop()
        if (depth == 0 or os.path.islink(here)) and _leaves(here, folder.root):
            yield _refused(here, _OUTSIDE)
            continue
        if depth and os.path.islink(here) and _inside(os.path.dirname(here), here):
            continue  # a link to a parent folder
        marked = os.path.join(here, marker)
        if marker and depth and os.path.lexists(marked):
            files, below = [marked], list[str]()
        else:
            try:
                files, below = _listed(here)
            except OSError as error:
                if depth or not isinstance(error, FileNotFoundError | NotADirectoryError):
                    yield _refused(here, error.strerror or str(error))
                continue
            files = [] if marker else files
        for path in files:
            yield _file(path, folder)
        seen += len(files) + len(below)
        if seen > MAX_FILES:
            yield _refused(folder.path, f"more than {MAX_FILES:,} files and folders; the rest is not read")
            return
        if depth < _MAX_DEPTH:
            ahead += [(path, depth + 1) for path in reversed(below)]


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """Return the Markdown files and the folders in a folder. Raises OSError."""
    files, below = list[str](), list[str]()
    with os.scandir(folder) as listing:
        for entry in islice(listing, MAX_FILES * 2):
            if entry.is_file(follow_symlinks=False) and not entry.name.endswith(".md"):
                continue
            if os.path.isdir(entry.path):
                if not entry.name.startswith(".") and entry.name not in _LEFT_OUT:
                    below.append(entry.path)
            elif entry.name.endswith(".md"):
                files.append(entry.path)
    return sorted(files), sorted(below)


def _file(path: str, folder: Folder) -> Found | _Refused:
    if os.path.islink(path) and _leaves(path, folder.root):
        return _refused(path, _OUTSIDE)
    try:
        info = os.stat(path)
    except OSError as error:
        return _refused(path, error.strerror or str(error))
    if not stat.S_ISREG(info.st_mode):
        return _refused(path, "not a regular file")
    return Found(Path(path), folder, (info.st_mtime_ns, info.st_size, info.st_ino))


def _leaves(path: str, root: Path | None) -> bool:
    """Return whether a path leads outside the project through links; always False without a project."""
    return root is not None and not _inside(path, root)


def _inside(path: str, folder: Path | str) -> bool:
    """Return whether a path, with its links resolved, is a folder or in it."""
    top, real = os.path.realpath(folder), os.path.realpath(path)
    return real == top or real.startswith(top.rstrip("/") + "/")


def _refused(path: Path | str, why: str) -> _Refused:
    return _Refused(f"{one_line(str(path))}: {why}")
