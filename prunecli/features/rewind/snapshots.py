"""Snapshots of a directory's files, stored as trees in prunecli's own git repository (`own_git`).

Files that git ignores are not saved; links are saved as links. The first snapshot of a large directory takes long, so
new files are added in portions. These are kept and not read again, even if the snapshot is abandoned.
"""

import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from prunecli.features.rewind.own_git import OutOfTime, OwnGit
from prunecli.model.codec import well_formed
from prunecli.util.errors import SnapshotFailed
from prunecli.util.frozen import frozen
from prunecli.util.paths import slug

MAX_FILE_BYTES = 10 * 1024 * 1024
"""Larger files are skipped and reported."""
EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""git's name for an empty tree."""
SECONDS = 15.0
"""Time limit of a snapshot."""
_MAX_SKIPPED = 1_000
PORTION = 1_000
"""Files added at a time. An abandoned snapshot keeps its finished portions."""
_AT_ONCE = 32
"""Contents read by one git process and held in memory."""
_MANY = 100
_PACKED = ("-c", "core.bigFileThreshold=1")
"""The option that stores new contents in one pack, six times as fast as single files (2.5 s instead of 16 s for
5,000)."""
_ENTRY = re.compile(rb":(\d{6}) (\d{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) ([A-Z])\d*\0([^\0]*)\0")
_COUNT = re.compile(rb"(\d+|-)\t(\d+|-)\t([^\0]*)\0")
_HEADER = re.compile(rb"[0-9a-f]{40} [0-9a-f]{40}\n")
_TREE = re.compile(r"[0-9a-f]{40}")


@frozen
class Saved:
    """A snapshot: the name of its tree, the paths that it does not cover, and how long it took."""

    tree: str
    skipped: tuple[str, ...]
    duration_ms: int


@frozen
class Version:
    """A file in a snapshot: git's mode (100644, 100755, or 120000 for a link) and the name of its content."""

    mode: str
    blob: str


@frozen
class FileChange:
    """A difference between two snapshots. A version is None if the file does not exist.

    `added` and `removed` count lines, -1 for a binary file. The path is relative to the workspace.
    """

    path: str
    old: Version | None
    new: Version | None
    added: int = 0
    removed: int = 0


class Snapshots:
    """The snapshots of one workspace below `folder`. Every method may block and may run in any thread.

    git gets PATH and HOME from `environ`. Raises SnapshotFailed; the workspace is never changed.
    """

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        environ: Mapping[str, str],
        home: Path,
        *,
        seconds: float = SECONDS,
        portion: int = PORTION,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.workspace = workspace
        self._own = OwnGit(folder / slug(workspace), workspace, environ, clock)
        self._home = home
        self._seconds = seconds
        self._portion = portion
        self._clock = clock

    def refusal(self) -> str:
        """Return why this directory cannot be saved, or ""."""
        if self.workspace == self._home or self.workspace in (Path("/"), *self._home.parents):
            return f"{self.workspace} is too large to save: start prunecli in a project folder"
        return ""

    def stop(self) -> None:
        """Stop work in another thread and save nothing from now on."""
        self._own.stopped.set()

    def save(self, seconds: float | None = None) -> Saved:
        """Save the files in their current state, within `seconds` if given.

        Raises OutOfTime if that is too short; files added so far are not read again.
        """
        if why := self.refusal():
            raise SnapshotFailed(why)
        if not os.path.isdir(self.workspace):
            raise SnapshotFailed(f"the working directory {self.workspace} no longer exists")
        begun = self._clock()
        until = begun + (self._seconds if seconds is None else seconds)
        with self._own.locked(until) as root:
            try:
                tree, skipped = self._saved(root, until)
            except OutOfTime:
                raise
            except SnapshotFailed:
                self._own.forget()  # the index is damaged, or its objects are lost
                tree, skipped = self._saved(root, until)
        return Saved(tree, skipped, round((self._clock() - begun) * 1000))

    def _saved(self, root: Path, until: float) -> tuple[str, tuple[str, ...]]:
        prefix = self.workspace.relative_to(root).as_posix()
        where = [] if prefix == "." else ["--", f":(literal){prefix}"]
        seen = self._own.git(root, until, "ls-files", "-z", "-o", "-m", "-d", "--exclude-standard", *where)
        changed, gone, skipped = _chosen(root, seen)
        gone += [path for path in skipped if not path.endswith(b"/")]
        self._update(root, until, ["--force-remove"], gone)
        self._update(root, until, ["--add", "--remove", "--replace"], changed)
        inside = len(prefix) + 1 if prefix != "." else 0
        names = tuple(well_formed(os.fsdecode(path)[inside:]) for path in skipped)
        return self._tree(root, until, prefix), names

    def changes(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[FileChange, ...]]:
        if not all(_TREE.fullmatch(tree) for pair in pairs for tree in pair):
            raise SnapshotFailed("not a valid snapshot name")
        wanted = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
        found = dict.fromkeys(pairs, ()) | dict(zip(wanted, self._differences(wanted), strict=True))
        return [found[pair] for pair in pairs]

    def first(self, trees: Sequence[str]) -> str:
        """Return the snapshot with the oldest known state of each file: the first, since each covers all files."""
        return trees[0]

    def contents(self, blobs: Iterable[str]) -> Iterator[bytes]:
        left = list(blobs)
        while left:
            asked, left = left[:_AT_ONCE], left[_AT_ONCE:]
            given = "".join(f"{blob}\n" for blob in asked).encode("ascii")
            until = self._clock() + self._seconds
            out = self._own.git(self.workspace, until, "cat-file", "--batch", given=given)
            for _ in asked:
                head, _, out = out.partition(b"\n")
                if not head.endswith(b" missing") and b" blob " in head:
                    size = int(head.rsplit(b" ", 1)[1])
                    yield out[:size]
                    out = out[size + 1 :]
                else:
                    raise SnapshotFailed("a file's content is missing from the snapshots")

    def ignored(self, paths: Sequence[str]) -> set[str]:
        if not paths:
            return set()
        until = self._clock() + self._seconds
        with self._own.locked(until) as root:
            full = [os.fsencode(self.workspace.relative_to(root) / path) for path in paths]
            words = ("check-ignore", "--no-index", "-z", "--stdin")
            out = self._own.git(
                root, until, *words, given=b"".join(path + b"\0" for path in full), fine=(0, 1)
            )
        hidden = set(out.split(b"\0"))
        return {path for path, whole in zip(paths, full, strict=True) if whole in hidden}

    # git -----------------------------------------------------------------------------------------------------

    def _differences(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[FileChange, ...]]:
        if not pairs:
            return []
        words = ("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", "--raw", "--numstat", "--stdin")
        asked = "".join(f"{old} {new}\n" for old, new in pairs).encode()
        until = self._clock() + self._seconds
        with self._own.locked(until):
            out = self._own.git(self.workspace, until, *words, given=asked)
        found = _parsed(out)
        if len(found) != len(pairs):
            raise SnapshotFailed("cannot compare the snapshots: one is missing or damaged")
        return found

    def _update(self, root: Path, until: float, how: Sequence[str], paths: Sequence[bytes]) -> None:
        for at in range(0, len(paths), self._portion):
            portion = paths[at : at + self._portion]
            given = b"".join(path + b"\0" for path in portion)
            options = _PACKED if len(portion) > _MANY else ()
            self._own.git(root, until, "update-index", "-z", *how, "--stdin", given=given, options=options)

    def _tree(self, root: Path, until: float, prefix: str) -> str:
        inside = [] if prefix == "." else [f"--prefix={prefix}/"]
        out = self._own.git(root, until, "write-tree", *inside, fine=(0, 128) if inside else (0,))
        return out.decode("ascii").strip() or EMPTY


def _chosen(root: Path, seen: bytes) -> tuple[list[bytes], list[bytes], list[bytes]]:
    changed, gone, skipped = list[bytes](), list[bytes](), list[bytes]()
    whole = os.fsencode(root)
    for path in dict.fromkeys(seen.split(b"\0")):
        if path:
            {"take": changed, "gone": gone, "skip": skipped}[_kind(whole, path)].append(path)
    if len(skipped) > _MAX_SKIPPED:
        raise SnapshotFailed(f"cannot save {len(skipped):,} files: too large, unreadable or repositories")
    return changed, gone, skipped


def _kind(root: bytes, path: bytes) -> str:
    """Return whether to take, remove or skip a path: nested repositories, large and unreadable files."""
    whole = os.path.join(root, path)
    if path.endswith(b"/"):
        return "skip"
    try:
        state = os.lstat(whole)
    except OSError:
        return "gone"
    if stat.S_ISREG(state.st_mode):
        readable = state.st_size <= MAX_FILE_BYTES and os.access(whole, os.R_OK)
        return "take" if readable else "skip"
    return "take" if stat.S_ISLNK(state.st_mode) else "gone"


def _parsed(out: bytes) -> list[tuple[FileChange, ...]]:
    found: list[dict[str, FileChange]] = []
    at = 0
    while at < len(out):
        if header := _HEADER.match(out, at):
            found.append({})
            at = header.end()
        elif entry := _ENTRY.match(out, at):
            path = os.fsdecode(entry[6])
            found[-1][path] = FileChange(path, _version(entry[1], entry[3]), _version(entry[2], entry[4]))
            at = entry.end()
        elif count := _COUNT.match(out, at):
            path = os.fsdecode(count[3])
            known = found[-1][path]
            added, removed = (-1 if part == b"-" else int(part) for part in count.groups()[:2])
            found[-1][path] = FileChange(path, known.old, known.new, added, removed)
            at = count.end()
        elif out[at : at + 1] == b"\0":
            at += 1
        else:
            raise SnapshotFailed("cannot parse git's output")
    return [tuple(changes.values()) for changes in found]


def _version(mode: bytes, blob: bytes) -> Version | None:
    return None if mode == b"000000" else Version(mode.decode("ascii"), blob.decode("ascii"))
