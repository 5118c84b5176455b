"""Snapshots without git, only of the files that edit and write change.

A snapshot lists the files watched so far, with the state of each. Contents and lists are stored under their git
names, as in `snapshots`.
"""

import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha1
from pathlib import Path
from typing import TypeAlias

from prunecli.features.rewind.snapshots import MAX_FILE_BYTES, FileChange, Saved, Version
from prunecli.model.codec import well_formed
from prunecli.tools.files.diff import change
from prunecli.util.errors import SnapshotFailed
from prunecli.util.paths import slug
from prunecli.util.private_file import make_private, write_private

_NAME = re.compile("[0-9a-f]{40}")

States: TypeAlias = dict[str, Version | None]
"""The state of each file in a snapshot: its version, or None if the file did not exist."""


class Copies:
    """The snapshots of one workspace below `folder`. Every method may block. Raises SnapshotFailed."""

    def __init__(self, folder: Path, workspace: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.workspace = workspace
        self._place = folder / slug(workspace) / "copies"
        self._clock = clock
        self._watched: dict[str, None] = {}
        self._known: set[str] = set()

    def refusal(self) -> str:
        """Return "": every directory can be saved this way."""
        return ""

    def watch(self, path: str) -> bool:
        """Also save this file of the workspace from now on; return whether it is new."""
        whole = Path(os.path.realpath(self.workspace / path))
        if not whole.is_relative_to(self.workspace):
            return False
        name = str(whole.relative_to(self.workspace))
        new = name not in self._watched
        self._watched[name] = None
        return new

    def know(self, trees: Iterable[str]) -> None:
        """Watch the files listed in earlier snapshots, except git's."""
        for tree in trees:
            if tree not in self._known and _NAME.fullmatch(tree) and os.path.isfile(self._place / tree):
                self._watched.update(dict.fromkeys(self._states(tree)))
            self._known.add(tree)

    def save(self) -> Saved:
        begun = self._clock()
        states: States = {}
        skipped: list[str] = []
        for path in self._watched:
            try:
                states[path] = self._kept(path)
            except SnapshotFailed:
                raise
            except (OSError, ValueError):
                skipped.append(well_formed(path))
        return Saved(self._listed(states), tuple(skipped), round((self._clock() - begun) * 1000))

    def changes(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[FileChange, ...]]:
        """Return the differences of each pair of snapshots, old to new, in files that both know."""
        return [tuple(self._differences(self._states(old), self._states(new))) for old, new in pairs]

    def first(self, trees: Sequence[str]) -> str:
        """Return a snapshot with the oldest known state of each file in these snapshots."""
        states: States = {}
        for tree in reversed(trees):
            states.update(self._states(tree))
        return self._listed(states)

    def contents(self, blobs: Iterable[str]) -> Iterator[bytes]:
        """Yield the contents of these versions, in order."""
        for blob in blobs:
            yield self._read(blob)

    def ignored(self, paths: Sequence[str]) -> set[str]:  # noqa: ARG002  # same signature as `Snapshots.ignored`
        """Return an empty set: restoring deletes only files that edit and write created."""
        return set()

    # Files ---------------------------------------------------------------------------------------------------

    def _kept(self, path: str) -> Version | None:
        """Store a file's content and return its version. Raises ValueError for files that are not saved."""
        whole = self.workspace / path
        try:
            state = os.lstat(whole)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_FILE_BYTES:
            raise ValueError("not a file of at most 10 MB")
        mode = "100755" if state.st_mode & 0o100 else "100644"
        return Version(mode, self._write(whole.read_bytes()))

    def _differences(self, old: States, new: States) -> Iterator[FileChange]:
        for path in sorted(old.keys() & new.keys()):
            before, after = old[path], new[path]
            if before == after:
                continue
            texts = [self._read(version.blob) if version else b"" for version in (before, after)]
            if any(b"\0" in text for text in texts):
                yield FileChange(path, before, after, -1, -1)
                continue
            made = change(*(text.decode("utf-8", "replace") for text in texts))
            yield FileChange(path, before, after, made.added, made.removed)

    def _listed(self, states: States) -> str:
        rows = {path: version and [version.mode, version.blob] for path, version in sorted(states.items())}
        return self._write(json.dumps(rows).encode("ascii"))

    def _states(self, tree: str) -> States:
        try:
            rows = json.loads(self._read(tree))
            return {path: row and Version(row[0], row[1]) for path, row in rows.items()}
        except (ValueError, AttributeError, IndexError, TypeError) as error:
            raise SnapshotFailed("cannot read a snapshot") from error

    def _write(self, data: bytes) -> str:
        name = name_of(data)
        try:
            make_private(self._place.parent.parent)
            for folder in (self._place.parent, self._place):
                folder.mkdir(mode=0o700, exist_ok=True)
            if not os.path.exists(self._place / name):
                write_private(self._place / name, data)
        except OSError as error:
            raise SnapshotFailed(f"{self._place}: {error.strerror}") from error
        return name

    def _read(self, name: str) -> bytes:
        try:
            data = (self._place / name).read_bytes() if _NAME.fullmatch(name) else b""
        except OSError as error:
            raise SnapshotFailed("a file's content is missing from the snapshots") from error
        if name_of(data) != name:
            raise SnapshotFailed("a saved file's content was altered")
        return data


def name_of(data: bytes) -> str:
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
