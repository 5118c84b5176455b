"""The unsent prompt, kept in a file so that a crash does not lose it.

Imported before the first frame, so imports needed only for reading and writing are local.
"""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from prunecli.util.lazy import lazy
from prunecli.util.private_file import make_private, write_private

if TYPE_CHECKING:
    from prunecli.tui.prompting import pastes as prompting_pastes
    from prunecli.util import paths
else:
    paths = lazy("prunecli.util.paths")
    prompting_pastes = lazy("prunecli.tui.prompting.pastes")

NO_PASTES: Mapping[int, str] = MappingProxyType({})


class Draft(NamedTuple):
    text: str = ""
    pastes: Mapping[int, str] = NO_PASTES

    def expanded(self) -> str:
        return prompting_pastes.expanded(self.text, self.pastes)


def folder_of(history: Path, cwd: Path) -> Path:
    return history.with_name("drafts") / paths.slug(cwd)


class DraftFile:
    """The draft of one running program, which holds a lock while it runs.

    A second program in the same directory has its own draft. The next program takes over a draft left by a crash or
    an exit. The class is not thread-safe.
    """

    def __init__(self, folder: Path) -> None:
        name = f"{os.getpid()}-{os.urandom(4).hex()}"
        self.path = folder / f"{name}.json"
        self._lock_path = folder / f"{name}.lock"
        self._lock: int | None = None

    def save(self, draft: Draft) -> None:
        """Keep a draft. Raises OSError."""
        if self._lock is None and draft.text.strip():
            self._hold()
        save(self.path, draft)

    def adopt(self) -> Draft:
        """Take over the newest draft without an owner, or an empty one. Raises OSError."""
        try:
            found = sorted(self.path.parent.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        except OSError:  # just removed
            return Draft()
        for path in reversed(found):
            lock_path = path.with_suffix(".lock")
            if path == self.path or (lock := _locked(lock_path)) is None:
                continue
            try:
                if draft := load(path):
                    self._hold()
                    path.replace(self.path)
                    return draft
            except FileNotFoundError:  # another program was faster
                continue
            finally:
                if not os.path.exists(path):
                    lock_path.unlink(missing_ok=True)
                os.close(lock)
        return Draft()

    def close(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            if not os.path.exists(self.path):
                self._lock_path.unlink(missing_ok=True)
            os.close(lock)

    def _hold(self) -> None:
        if self._lock is None:
            make_private(self.path.parent)
            self._lock = _locked(self._lock_path)


def _locked(path: Path) -> int | None:
    """Lock a file and return its descriptor; return None if another program holds the lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def save(path: Path, draft: Draft) -> None:
    """Save a draft, or remove its file if it is blank. Replaces the file atomically. Raises OSError."""
    if not draft.text.strip():
        path.unlink(missing_ok=True)
        return
    make_private(path.parent)
    data = json.dumps({"text": draft.text, "pastes": {str(n): text for n, text in draft.pastes.items()}})
    write_private(path, data.encode())


def load(path: Path) -> Draft | None:
    """Return the saved draft; None if there is none or it cannot be read."""
    try:
        found = json.loads(path.read_bytes())
        pastes = {int(number): str(text) for number, text in found["pastes"].items()}
        return Draft(str(found["text"]), pastes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
