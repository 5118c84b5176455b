"""Freezes a layer: the list of what its commands changed, which is shown and applied, and nothing else.

The kernel's overlay writes changes as files: a device 0/0 where something was deleted, attributes `user.overlay.*`
on folders that hide what is below them and on files that were copied from there. A command can make neither, so
anything else of the kind was made by hand and is refused.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from prunecli.safety.permissions.places import lies_in_kept
from prunecli.safety.proposals.layer import Layer
from prunecli.safety.proposals.protected import Rules
from prunecli.safety.proposals.states import FOLDER, State, readable, state_of
from prunecli.safety.sandbox.real_folders import opened
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

    `controls`: other programs obey it. `secret`: it looks like a file with secrets. `twin` is another path that is
    there before, of which this becomes a second name. `in_place`: a file with several names was written, not
    replaced.
    """

    root: str
    path: str
    before: State | None
    after: State | None
    controls: bool = False
    secret: bool = False
    twin: str = ""
    in_place: bool = False

    @property
    def full(self) -> str:
        return os.path.join(self.root, self.path) if self.path else self.root

    @property
    def is_mode(self) -> bool:
        """Whether only the mode changes of what stays there."""
        return self.before is not None and self.after is not None and self.before.equals(self.after)


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
    changes, caches, stale = list[Change](), list[str](), list[str]()
    refused = dict[str, str]()
    for root in layer.roots:
        reading = _Reading(layer, root, Rules(root, layer.upper(root), layer.walls.ground.doubt))
        try:
            reading.read()
        except OSError as error:
            raise ToolError(f"The changes can't be read: {error.filename}: {error.strerror}.") from error
        changes += [*reading.gone.values(), *reading.changes.values()]
        caches += reading.caches
        stale += reading.stale
        refused |= reading.refused
    changes.sort(key=lambda change: (change.root, change.path.split("/"), change.after is not None))
    return Proposal(layer, tuple(changes), tuple(caches), tuple(refused.items()), tuple(dict.fromkeys(stale)))


class _Reading:
    """One walk through the changes of a layer in one root, beside the folders below."""

    def __init__(self, layer: Layer, root: str, rules: Rules) -> None:
        self.changes = dict[str, Change]()
        self.gone = dict[str, Change]()
        self.caches, self.stale = list[str](), list[str]()
        self.refused = dict[str, str]()
        self._layer, self._root, self._rules = layer, root, rules
        self._names = defaultdict[tuple[int, int], list[Change]](list)
        """The files of the layer that have several names, changed or not."""

    def read(self) -> None:
        with (
            opened(self._layer.upper(self._root), flags=FOLDER) as upper,
            opened(self._root, flags=FOLDER) as lower,
        ):
            before = state_of(".", lower, os.fstat(lower))
            after = state_of(".", upper, os.fstat(upper))
            if before.mode != after.mode:
                self._add("", before, after)
            self._folder("", upper, lower)
        for group in self._names.values():
            self._join(group)
        self._find_moved()
        self._refuse_diverged()

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
        if lower is not None and _OPAQUE in os.listxattr(upper):
            for name in sorted(set(os.listdir(lower)) - set(names)):
                here = f"{path}/{name}" if path else name
                if _is_cache(here):
                    self.caches.append(here)
                else:
                    self._gone(here, name, lower)

    def _entry(self, path: str, name: str, upper: int, lower: int | None) -> None:
        status = os.lstat(name, dir_fd=upper)
        below = _status(name, lower)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            if lower is not None and below is not None:
                self._gone(path, name, lower)
            return
        is_folder = stat.S_ISDIR(status.st_mode)
        try:
            if not is_folder and not stat.S_ISREG(status.st_mode):
                self._replace(path, name, state_of(name, upper, status), lower, below)
                return
        except ValueError as error:
            self.refused[path] = str(error)
            return
        with readable(name, upper, status) as inner:
            odd = [one for one in os.listxattr(inner) if one.startswith(_OVERLAY) and one not in _KNOWN]
            if odd:
                self.refused[path] = f"has the attribute {odd[0]}"
            elif not is_folder:
                self._replace(path, name, state_of(name, upper, status, inner), lower, below)
            elif lower is None or below is None or not stat.S_ISDIR(below.st_mode):
                self._replace(path, name, state_of(name, upper, status), lower, below)
                self._folder(path, inner, None)
            else:
                before, after = state_of(name, lower, below), state_of(name, upper, status)
                if before.mode != after.mode:
                    self._add(path, before, after)
                with readable(name, lower, below) as beneath:
                    self._folder(path, inner, beneath)

    def _replace(
        self, path: str, name: str, after: State, lower: int | None, below: os.stat_result | None
    ) -> None:
        """Record what is new or different at a path; `below` is what was there."""
        before: State | None = None
        if lower is not None and below is not None:
            folders = after.what == "folder", stat.S_ISDIR(below.st_mode)
            if any(folders):
                self._gone(path, name, lower)
            elif after.what == "file" and stat.S_ISREG(below.st_mode) and below.st_size == after.size:
                with readable(name, lower, below) as descriptor:
                    before = state_of(name, lower, below, descriptor)
            else:
                before = self._state(path, name, lower, below)
        change = Change(self._root, path, before, after)
        if before is None or not before.equals(after) or before.mode != after.mode:
            change = self._add(path, before, after)
        if after.names > 1:
            self._names[after.identity[:2]].append(change)

    def _state(self, path: str, name: str, lower: int, status: os.stat_result) -> State | None:
        try:
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                with readable(name, lower, status) as descriptor:
                    return state_of(name, lower, status, descriptor)
            return state_of(name, lower, status)
        except ValueError as error:
            self.refused[path] = str(error)
            return None

    def _gone(self, path: str, name: str, lower: int) -> None:
        """Record that all that is at a path of the folder below is deleted."""
        status = os.lstat(name, dir_fd=lower)
        before = self._state(path, name, lower, status)
        if before is None:
            return
        self._add(path, before, None)
        if before.what == "folder":
            with readable(name, lower, status) as inner:
                for below in sorted(os.listdir(inner)):
                    self._gone(f"{path}/{below}", below, inner)

    def _add(self, path: str, before: State | None, after: State | None) -> Change:
        marks = lies_in_kept(path), looks_secret(f"/{path}")
        change = Change(self._root, path, before, after, *marks)
        if before and after and before.names > 1 and before.what == after.what and not before.equals(after):
            change = replace(change, in_place=self._is_copied(before, after))
        if before and before.identity[2] > self._layer.begun:
            self.stale.append(change.full)
        if why := self._rules.why_not(path, before, after):
            self.refused[path] = why
        elif after is None:
            self.gone[path] = change
        else:
            self.changes[path] = change
        return change

    def _is_copied(self, before: State, after: State) -> bool:
        """Return whether a file of the layer was copied from the one below before it was written. Such a copy keeps
        the time of the last reading, which somebody may have moved on below."""
        copied, below = after.times[0], before.times[0]
        return copied == below or (copied < self._layer.begun <= below)

    def _join(self, group: Sequence[Change]) -> None:
        """Where a file that is there before got other names, give them to it."""
        for one in group:
            stays = one.before and one.after and (one.before.equals(one.after) or one.in_place)
            if stays and one.before and one.before.what == "file":
                for other in group:
                    was_other = not other.before or other.before.identity[:2] != one.before.identity[:2]
                    if other is not one and was_other and other.path not in self.refused:
                        self.changes[other.path] = replace(other, twin=one.path)
                return

    def _find_moved(self) -> None:
        """Where a file with several names was moved, keep it one file with its other names."""
        gone = [(one, one.before) for one in self.gone.values() if one.before and one.before.names > 1]
        moved = {(before.times[1], before.size, before.digest): one for one, before in gone}
        read = {before.times[0]: one for one, before in gone}
        for change in list(self.changes.values()) if gone else ():
            after = change.after
            if change.before or change.twin or not after or after.what != "file":
                continue
            if one := moved.get((after.times[1], after.size, after.digest)):
                self.changes[change.path] = replace(change, twin=one.path)
            elif one := read.get(after.times[0]):
                self.refused[change.path] = f"was {one.path}, which has other names, and was written as well"

    def _refuse_diverged(self) -> None:
        """Refuse files that are one, and were changed as if they were two: a direct run would have mixed them."""
        seen = dict[tuple[int, int], Change]()
        for change in self.changes.values():
            before, after = change.before, change.after
            if before and after and before.names > 1 and (change.is_mode or change.in_place):
                first = seen.setdefault(before.identity[:2], change)
                if first.after and not (after.equals(first.after) and after.mode == first.after.mode):
                    self.refused[change.path] = f"is the same file as {first.path}"


def _is_cache(path: str) -> bool:
    return any(path == cache or path.endswith(f"/{cache}") for cache in CACHES)


def _status(name: str, folder: int | None) -> os.stat_result | None:
    if folder is None:
        return None
    try:
        return os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None
