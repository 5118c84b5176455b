"""prunecli's own git repository for one directory. It never changes the user's repository.

The repository is stored beside the sessions. It has its own index, objects and configuration, so the user's filters,
hooks, monitors and settings have no effect.
"""

import contextlib
import fcntl
import os
import re
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from prunecli.util.errors import SnapshotFailed
from prunecli.util.private_file import make_private
from prunecli.util.programs import find_outside, outside_path
from prunecli.util.regular import read_regular

_LOOK_SECONDS = 0.1
"""How often to check whether a running git is still wanted."""

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
"""Attributes that save bytes unchanged and override the directory's .gitattributes."""
_EXCLUDES = ".prunecli-*.tmp\n.prunecli-*.journal\n"


class OutOfTime(SnapshotFailed):
    """Saving took too long. Its work so far is kept and speeds up the next attempt."""


class OwnGit:
    """The repository at `place` for the files of `workspace`. Every method may block and may run in any thread.

    git gets PATH and HOME from `environ`, but never runs programs from the workspace. `clock` gives the time. Raises
    SnapshotFailed.
    """

    def __init__(
        self,
        place: Path,
        workspace: Path,
        environ: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stopped = threading.Event()
        """Set to stop current work and refuse more."""
        self._place = place
        self._workspace = workspace
        self._clock = clock
        self._environ = _environment(environ, workspace)
        self._program = find_outside(environ.get("PATH", ""), "git", str(workspace))

    def git(
        self,
        root: Path,
        until: float,
        *words: str,
        given: bytes = b"",
        fine: Sequence[int] = (0,),
        options: Sequence[str] = (),
    ) -> bytes:
        """Run git on the work tree `root` and return its output. Killed at `until`, or when `stopped` is set."""
        if self._clock() > until or self.stopped.is_set():
            raise OutOfTime("no time left to save the files")
        if self._program is None:
            raise SnapshotFailed("cannot run git: not installed outside the workspace")
        command = [self._program, f"--git-dir={self._place}", f"--work-tree={root}", *options, *words]
        try:
            process = subprocess.Popen(
                command,
                cwd=root,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise SnapshotFailed(f"cannot run git: {error.strerror}") from error
        with process:
            out, err = self._answer(process, given, until)
        if process.returncode not in fine:
            said = err.decode("utf-8", "replace").strip().split("\n")[-1]
            raise SnapshotFailed(f"git {words[0]}: {said or f'exit code {process.returncode}'}")
        return out

    def _answer(self, process: "subprocess.Popen[bytes]", given: bytes, until: float) -> tuple[bytes, bytes]:
        left: bytes | None = given
        while True:
            try:
                return process.communicate(left, timeout=_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                left = None  # git has received all input
                if self._clock() > until or self.stopped.is_set():
                    process.kill()
                    raise OutOfTime("saving the files took too long") from None

    @contextlib.contextmanager
    def locked(self, until: float) -> Iterator[Path]:
        """Prepare and lock the repository, and yield the root of the work tree."""
        try:
            make_private(self._place.parent)
            for name in ("", "info", "objects", "refs"):
                (self._place / name).mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self._place / "held", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise SnapshotFailed(f"{self._place}: {error.strerror}") from error
        try:
            self._wait_for(lock, until)
            yield self._ready()
        except OSError as error:
            raise SnapshotFailed(f"{error.filename or self._place}: {error.strerror}") from error
        finally:
            os.close(lock)

    def _wait_for(self, lock: int, until: float) -> None:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if self._clock() > until or self.stopped.is_set():
                    raise OutOfTime("another process is saving the same files") from None
                time.sleep(0.01)

    def _ready(self) -> Path:
        """Write the repository's files if they are missing or were changed. Raises OSError."""
        root = next(
            (up for up in (self._workspace, *self._workspace.parents) if os.path.lexists(up / ".git")),
            self._workspace,
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
            self.forget()
        (self._place / "index.lock").unlink(missing_ok=True)
        for begun in (self._place / "objects" / "pack").glob("tmp_*"):
            begun.unlink(missing_ok=True)  # left over from a killed git
        return root

    def forget(self) -> None:
        """Discard the index, so that all files are examined again. Raises OSError."""
        (self._place / "index").unlink(missing_ok=True)


def _environment(environ: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """Return the environment for git: none of the user's git settings except their ignore file."""
    kept = {name: environ[name] for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if name in environ}
    return {
        **kept,
        "PATH": outside_path(kept.get("PATH", ""), str(workspace)),
        "LC_ALL": "C",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
    }


def _keep(path: Path, text: str) -> bool:
    """Write a small file unless it already has this content; return whether it was written. Raises OSError."""
    data = os.fsencode(text)
    with contextlib.suppress(FileNotFoundError):
        if read_regular(path) == data:
            return False
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return True


def _own_excludes(root: Path) -> str:
    """Return the ignore rules in .git/info/exclude of the user's repository."""
    path = root / ".git" / "info" / "exclude"
    try:
        state = os.lstat(path)
        if stat.S_ISREG(state.st_mode) and state.st_size < 100_000:
            return os.fsdecode(read_regular(path))
    except OSError:
        pass
    return ""
