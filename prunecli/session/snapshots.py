"""Snapshots of a directory's files in a git repository of our own: the user's repository is never touched.

Its folder lies beside the sessions; index, objects and configuration are ours, so no filter, hook, monitor or
setting of anybody else takes part (CFG-08). What git ignores is not saved; links are saved as links.
"""

import contextlib
import fcntl
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prunecli.errors import SnapshotFailed
from prunecli.model.codec import well_formed
from prunecli.paths import slug

MAX_FILE_BYTES = 10 * 1024 * 1024
"""Larger files are left out, and said to be."""
SECONDS = 15.0
"""What takes longer is given up: the agent waits for it."""
EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""git's name for a tree without files."""
_MAX_SKIPPED = 1_000
_AT_ONCE = 32
"""Contents that are read by one git and held in memory."""
_MANY = 100
_PACKED = ("-c", "core.bigFileThreshold=1")
"""Many new contents go into one pack: six times as fast as a file for each (5,000 files: 2.5 s instead of 16)."""
_ENTRY = re.compile(rb":(\d{6}) (\d{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) ([A-Z])\d*\0([^\0]*)\0")
_COUNT = re.compile(rb"(\d+|-)\t(\d+|-)\t([^\0]*)\0")
_HEADER = re.compile(rb"[0-9a-f]{40} [0-9a-f]{40}\n")
_TREE = re.compile(r"[0-9a-f]{40}")

_CONFIG = """\
[core]
	repositoryformatversion = 0
	bare = false
	filemode = true
	symlinks = true
	ignorecase = {folded}
	precomposeunicode = {folded}
	autocrlf = false
	safecrlf = false
	attributesfile = /dev/null
	fsmonitor = false
	hookspath = /dev/null
	compression = 1
	untrackedcache = false
[gc]
	auto = 0
[maintenance]
	auto = false
[submodule]
	recurse = false
"""
_ATTRIBUTES = "* -text !eol -crlf -ident !filter !working-tree-encoding !diff\n"
"""Bytes are saved as they are, whatever the .gitattributes of the directory say."""
_EXCLUDES = ".prunecli-*.tmp\n.prunecli-*.journal\n"


@dataclass(frozen=True, slots=True)
class Saved:
    """A snapshot: the name of its tree, the paths it says nothing of, and how long it took."""

    tree: str
    skipped: tuple[str, ...]
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Version:
    """A file in a snapshot: git's mode (100644, 100755, 120000 for a link) and the name of its content."""

    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """How a path differs between two snapshots; None where there is no such file. `added` and `removed` count
    lines, -1 for a binary file. The path is relative to the workspace."""

    path: str
    old: Version | None
    new: Version | None
    added: int = 0
    removed: int = 0


class Snapshots:
    """The snapshots of one workspace below `folder`. Every method may block and may run in any thread.

    `environ` gives PATH and HOME to git. Raises SnapshotFailed; the workspace is never changed.
    """

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        environ: Mapping[str, str],
        home: Path,
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.workspace = workspace
        self._place = folder / slug(workspace)
        self._home = home
        self._seconds = seconds
        self._clock = clock
        self._environ = _environment(environ)

    def refusal(self) -> str:
        """Why this directory is not saved, or ""."""
        if self.workspace == self._home or self.workspace in (Path("/"), *self._home.parents):
            return f"{self.workspace} is too much to save: start in a project's folder"
        return ""

    def save(self) -> Saved:
        """Saves the files as they are now."""
        if why := self.refusal():
            raise SnapshotFailed(why)
        begun = self._clock()
        with self._locked(begun) as root:
            try:
                tree, skipped = self._saved(root, begun)
            except SnapshotFailed:
                if self._clock() - begun > self._seconds / 2:
                    raise
                (self._place / "index").unlink(missing_ok=True)  # damaged, or of objects that are lost
                tree, skipped = self._saved(root, begun)
        return Saved(tree, skipped, round((self._clock() - begun) * 1000))

    def _saved(self, root: Path, begun: float) -> tuple[str, tuple[str, ...]]:
        prefix = self.workspace.relative_to(root).as_posix()
        where = [] if prefix == "." else ["--", f":(literal){prefix}"]
        seen = self._git(root, begun, "ls-files", "-z", "-o", "-m", "-d", "--exclude-standard", *where)
        changed, gone, skipped = _chosen(root, seen)
        gone += [path for path in skipped if not path.endswith(b"/")]
        self._update(root, begun, ["--force-remove"], gone)
        self._update(root, begun, ["--add", "--remove", "--replace"], changed)
        inside = len(prefix) + 1 if prefix != "." else 0
        names = tuple(well_formed(os.fsdecode(path)[inside:]) for path in skipped)
        return self._tree(root, begun, prefix), names

    def changes(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[FileChange, ...]]:
        """How each pair of trees differs, old to new."""
        if not all(_TREE.fullmatch(tree) for pair in pairs for tree in pair):
            raise SnapshotFailed("a snapshot has a name that no snapshot of git has")
        wanted = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
        found = dict.fromkeys(pairs, ()) | dict(zip(wanted, self._differences(wanted), strict=True))
        return [found[pair] for pair in pairs]

    def first(self, trees: Sequence[str]) -> str:
        """One snapshot that knows of each file what the first of these knows: the first, it knows all."""
        return trees[0]

    def contents(self, blobs: Iterable[str]) -> Iterator[bytes]:
        """The contents of these versions, one after the other."""
        left = list(blobs)
        while left:
            asked, left = left[:_AT_ONCE], left[_AT_ONCE:]
            given = "".join(f"{blob}\n" for blob in asked).encode("ascii")
            out = self._git(self.workspace, self._clock(), "cat-file", "--batch", given=given)
            for _ in asked:
                head, _, out = out.partition(b"\n")
                if not head.endswith(b" missing") and b" blob " in head:
                    size = int(head.rsplit(b" ", 1)[1])
                    yield out[:size]
                    out = out[size + 1 :]
                else:
                    raise SnapshotFailed("a content is missing from the snapshots")

    def ignored(self, paths: Sequence[str]) -> set[str]:
        """Which of these paths the ignore rules of now leave out."""
        begun = self._clock()
        if not paths:
            return set()
        with self._locked(begun) as root:
            full = [os.fsencode(self.workspace.relative_to(root) / path) for path in paths]
            words = ("check-ignore", "--no-index", "-z", "--stdin")
            out = self._git(root, begun, *words, given=b"".join(path + b"\0" for path in full), fine=(0, 1))
        hidden = set(out.split(b"\0"))
        return {path for path, whole in zip(paths, full, strict=True) if whole in hidden}

    # git -----------------------------------------------------------------------------------------------------

    def _differences(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[FileChange, ...]]:
        if not pairs:
            return []
        words = ("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", "--raw", "--numstat", "--stdin")
        asked = "".join(f"{old} {new}\n" for old, new in pairs).encode()
        begun = self._clock()
        with self._locked(begun):
            out = self._git(self.workspace, begun, *words, given=asked)
        found = _parsed(out)
        if len(found) != len(pairs):
            raise SnapshotFailed("the snapshots can't be compared: one is missing or damaged")
        return found

    def _update(self, root: Path, begun: float, how: Sequence[str], paths: Sequence[bytes]) -> None:
        if paths:
            given = b"".join(path + b"\0" for path in paths)
            options = _PACKED if len(paths) > _MANY else ()
            self._git(root, begun, "update-index", "-z", *how, "--stdin", given=given, options=options)

    def _tree(self, root: Path, begun: float, prefix: str) -> str:
        inside = [] if prefix == "." else [f"--prefix={prefix}/"]
        out = self._git(root, begun, "write-tree", *inside, fine=(0, 128) if inside else (0,))
        return out.decode("ascii").strip() or EMPTY

    def _git(
        self,
        root: Path,
        begun: float,
        *words: str,
        given: bytes = b"",
        fine: Sequence[int] = (0,),
        options: Sequence[str] = (),
    ) -> bytes:
        """What git answers. The work tree is `root`, the repository always ours."""
        command = ["git", f"--git-dir={self._place}", f"--work-tree={root}", *options, *words]
        left = self._seconds - (self._clock() - begun)
        try:
            done = subprocess.run(
                command,
                cwd=root,
                env=self._environ,
                input=given,
                capture_output=True,
                timeout=max(0.1, left),
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SnapshotFailed(f"saving the files took longer than {self._seconds:g} seconds") from error
        except OSError as error:
            raise SnapshotFailed(f"git can't be run: {error.strerror}") from error
        if done.returncode not in fine:
            said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
            raise SnapshotFailed(f"git {words[0]}: {said or f'exit code {done.returncode}'}")
        return done.stdout

    @contextlib.contextmanager
    def _locked(self, begun: float) -> Iterator[Path]:
        """The repository, made ready and held against other processes; gives the root of the work tree."""
        try:
            self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("", "info", "objects", "refs"):
                (self._place / name).mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self._place / "held", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise SnapshotFailed(f"{self._place}: {error.strerror}") from error
        try:
            self._wait_for(lock, begun)
            yield self._ready()
        except OSError as error:
            raise SnapshotFailed(f"{error.filename or self._place}: {error.strerror}") from error
        finally:
            os.close(lock)

    def _wait_for(self, lock: int, begun: float) -> None:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if self._clock() - begun > self._seconds:
                    raise SnapshotFailed("another prunecli is saving the same files") from None
                time.sleep(0.01)

    def _ready(self) -> Path:
        """Writes what the repository is made of, where it is missing or was changed. Raises OSError."""
        root = next(
            (up for up in (self.workspace, *self.workspace.parents) if os.path.lexists(up / ".git")),
            self.workspace,
        )
        excludes = _EXCLUDES
        if self._place.is_relative_to(root):
            ours = self._place.parent.relative_to(root).as_posix()
            excludes += "/" + re.sub(r"([][*?\\! ])", r"\\\1", ours) + "/\n"
        folded = "true" if sys.platform == "darwin" else "false"
        _keep(self._place / "HEAD", "ref: refs/heads/none\n")
        _keep(self._place / "config", _CONFIG.format(folded=folded))
        _keep(self._place / "info" / "attributes", _ATTRIBUTES)
        _keep(self._place / "info" / "exclude", excludes + _own_excludes(root))
        if _keep(self._place / "root", f"{root}\n"):
            (self._place / "index").unlink(missing_ok=True)
        (self._place / "index.lock").unlink(missing_ok=True)
        return root


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What git gets: nothing of the user's git settings but the ignore file of their own."""
    kept = {name: environ[name] for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if name in environ}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
    }


def _chosen(root: Path, seen: bytes) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """The paths to take in as they are now, those that are files no longer, and those to leave out."""
    changed, gone, skipped = list[bytes](), list[bytes](), list[bytes]()
    whole = os.fsencode(root)
    for path in dict.fromkeys(seen.split(b"\0")):
        if path:
            {"take": changed, "gone": gone, "skip": skipped}[_kind(whole, path)].append(path)
    if len(skipped) > _MAX_SKIPPED:
        raise SnapshotFailed(f"{len(skipped):,} files can't be saved: too large, unreadable or repositories")
    return changed, gone, skipped


def _kind(root: bytes, path: bytes) -> str:
    """What becomes of a path. A repository of its own, what is too large or can't be read is skipped."""
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
    """What diff-tree said of each pair."""
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
            raise SnapshotFailed("git answered what can't be read")
    return [tuple(changes.values()) for changes in found]


def _version(mode: bytes, blob: bytes) -> Version | None:
    return None if mode == b"000000" else Version(mode.decode("ascii"), blob.decode("ascii"))


def _keep(path: Path, text: str) -> bool:
    """Writes a small file of ours unless it says just that; whether it was written. Raises OSError."""
    data = os.fsencode(text)
    with contextlib.suppress(FileNotFoundError):
        if path.read_bytes() == data:
            return False
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return True


def _own_excludes(root: Path) -> str:
    """What the user's repository ignores without saying so in a .gitignore."""
    path = root / ".git" / "info" / "exclude"
    try:
        state = os.lstat(path)
        if stat.S_ISREG(state.st_mode) and state.st_size < 100_000:
            return os.fsdecode(path.read_bytes())
    except OSError:
        pass
    return ""
