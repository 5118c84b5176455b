"""Freezes a layer: the list of what its commands changed, which is shown and applied, and nothing else.

The kernel's overlay writes changes as files: a device 0/0 where something was deleted, attributes `user.overlay.*`
on folders that hide what is below them and on files that were copied from there. A command can make neither, so
anything else of the kind was made by hand and is refused.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack

from prunecli.safety.permissions.places import lies_in_kept
from prunecli.safety.proposals.layer import Layer
from prunecli.safety.proposals.protected import Rules
from prunecli.safety.proposals.states import FOLDER, State, readable, state_of
from prunecli.tools.files.secret_paths import looks_secret
from prunecli.util.errors import ToolError
from prunecli.util.frozen import frozen

CACHES = (
    *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".eslintcache"),
    *("node_modules/.cache", "node_modules/.vite"),
)
"""What tools write by themselves, as the last parts of a path. Never applied: a `.pyc` is code."""
_OPAQUE, _ORIGIN = "user.overlay.opaque", "user.overlay.origin"
_KNOWN = frozenset({_OPAQUE, _ORIGIN, "user.overlay.impure"})
_OVERLAY = ("user.overlay.", "trusted.overlay.")
_DEEPEST = 200


@frozen
class Change:
    """One path that commands changed, relative to `root`. `before` is None for what is new, `after` for what is gone.

    `controls`: other programs obey it. `secret`: it looks like a file with secrets.
    """

    root: str
    path: str
    before: State | None
    after: State | None
    controls: bool = False
    secret: bool = False

    @property
    def full(self) -> str:
        return os.path.join(self.root, self.path) if self.path else self.root


@frozen
class Proposal:
    """The frozen changes of a layer, each folder before what is in it.

    `caches` are the dropped paths of caches. `refused` are paths that can't be applied, with the reason. `stale` are
    those where the folders below were changed since the layer was begun. Only without both can it be applied.
    `git` says what happened to the repository, in git's words.
    """

    layer: Layer
    changes: tuple[Change, ...]
    caches: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    stale: tuple[str, ...] = ()
    git: tuple[str, ...] = ()

    def content(self, change: Change, most: int, *, new: bool) -> bytes | None:
        """Return at most so many bytes of the new or the old content of a file, None for anything else."""
        state = change.after if new else change.before
        if state is None or state.what != "file":
            return None
        top = self.layer.upper(change.root) if new else change.root
        with ExitStack() as stack:
            folder = os.open(top, FOLDER)
            stack.callback(os.close, folder)
            *above, name = change.path.split("/")
            for part in above:
                status = os.lstat(part, dir_fd=folder)
                folder = stack.enter_context(readable(part, folder, status))
            status = os.lstat(name, dir_fd=folder)
            descriptor = stack.enter_context(readable(name, folder, status))
            return os.pread(descriptor, most, 0)


def freeze(layer: Layer) -> Proposal:
    """Return what the commands of a layer changed. Raises ToolError if one still runs, or the layer can't be read."""
    layer.wait()
    reading = _Reading(layer, Rules(layer.upper, layer.walls.ground.doubt))
    for root in layer.roots:
        try:
            reading.read(root)
        except OSError as error:
            raise ToolError(f"The changes can't be read: {error.filename}: {error.strerror}.") from error
    return Proposal(
        layer,
        tuple(reading.changes),
        tuple(reading.caches),
        tuple(reading.refused.items()),
        tuple(dict.fromkeys(reading.stale)),
    )


class _Reading:
    """One walk through the changes of a layer, beside the folders below."""

    def __init__(self, layer: Layer, rules: Rules) -> None:
        self.changes = list[Change]()
        self.caches, self.stale = list[str](), list[str]()
        self.refused = dict[str, str]()
        self._layer, self._rules = layer, rules
        self._root = ""

    def read(self, root: str) -> None:
        self._root = root
        upper, lower = os.open(self._layer.upper(root), FOLDER), os.open(root, FOLDER)
        try:
            above, below = os.fstat(upper), os.fstat(lower)
            before = state_of(".", lower, below)
            after = state_of(".", upper, above)
            if before.mode != after.mode:
                self._add("", before, after)
            self._folder("", upper, lower)
        finally:
            os.close(upper)
            os.close(lower)

    def _folder(self, path: str, upper: int, lower: int | None) -> None:
        """Read a folder of the layer; `lower` is what it changes, None if it is new."""
        if path.count("/") > _DEEPEST:
            self.refused[path] = "is too deep"
            return
        names = sorted(os.listdir(upper))
        for name in names:
            here = f"{path}/{name}" if path else name
            if _is_cache(here):
                self.caches.append(here)
            else:
                self._entry(here, name, upper, lower)
        if lower is not None and _attribute(upper, _OPAQUE):
            for name in sorted(set(os.listdir(lower)) - set(names)):
                here = f"{path}/{name}" if path else name
                (self.caches.append(here) if _is_cache(here) else self._gone(here, name, lower))

    def _entry(self, path: str, name: str, upper: int, lower: int | None) -> None:
        status = os.lstat(name, dir_fd=upper)
        below = _status(name, lower)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            if lower is not None and below is not None:
                self._gone(path, name, lower)
            return
        if odd := _odd(name, upper, status):
            self.refused[path] = odd
            return
        try:
            after = state_of(name, upper, status)
        except ValueError as error:
            self.refused[path] = str(error)
            return
        if after.what != "folder":
            self._file(path, name, after, lower, below)
            return
        with readable(name, upper, status) as inner:
            if lower is None or below is None or not stat.S_ISDIR(below.st_mode):
                if lower is not None and below is not None:
                    self._gone(path, name, lower)
                self._add(path, None, after)
                self._folder(path, inner, None)
                return
            before = state_of(name, lower, below)
            if before.mode != after.mode:
                self._add(path, before, after)
            with readable(name, lower, below) as beneath:
                self._folder(path, inner, beneath)

    def _file(
        self, path: str, name: str, after: State, lower: int | None, below: os.stat_result | None
    ) -> None:
        if lower is None or below is None:
            self._add(path, None, after)
            return
        if stat.S_ISDIR(below.st_mode):
            self._gone(path, name, lower)
            self._add(path, None, after)
            return
        before = state_of(name, lower, below, digest=below.st_size == after.size)
        if (before.what, before.mode, before.size, before.digest) != (
            after.what,
            after.mode,
            after.size,
            after.digest,
        ):
            self._add(path, before, after)

    def _gone(self, path: str, name: str, lower: int) -> None:
        """Record that all that is at a path of the folder below is deleted."""
        status = os.lstat(name, dir_fd=lower)
        try:
            before = state_of(name, lower, status, digest=False)
        except ValueError as error:
            self.refused[path] = str(error)
            return
        self._add(path, before, None)
        if before.what == "folder":
            with readable(name, lower, status) as inner:
                for below in sorted(os.listdir(inner)):
                    self._gone(f"{path}/{below}", below, inner)

    def _add(self, path: str, before: State | None, after: State | None) -> None:
        if before and before.identity[2] > self._layer.begun:
            self.stale.append(os.path.join(self._root, path))
        if why := self._rules.why_not(self._root, path, before, after):
            self.refused[path] = why
            return
        self.changes.append(
            Change(self._root, path, before, after, lies_in_kept(path), looks_secret(f"/{path}"))
        )


def _is_cache(path: str) -> bool:
    return any(path == cache or path.endswith(f"/{cache}") for cache in CACHES)


def _status(name: str, folder: int | None) -> os.stat_result | None:
    if folder is None:
        return None
    try:
        return os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None


def _attributes(name: str, folder: int, status: os.stat_result) -> Iterator[str]:
    """Yield the attributes of the overlay; those of links and pipes can't be set by users."""
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        with readable(name, folder, status) as descriptor:
            yield from (one for one in os.listxattr(descriptor) if one.startswith(_OVERLAY))


def _odd(name: str, folder: int, status: os.stat_result) -> str:
    for attribute in _attributes(name, folder, status):
        if attribute not in _KNOWN:
            return f"has the attribute {attribute}"
    return ""


def _attribute(folder: int, name: str) -> bool:
    return name in os.listxattr(folder)
