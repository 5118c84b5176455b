"""The trust store: a file in the user's configuration folder that lists trusted directories by real path.

Trust in the root of a repository also covers its folders and its linked worktrees, as long as they bring no settings
of their own; otherwise it covers one directory. Nothing inside a directory can grant trust: a worktree counts only if
the trusted repository lists it, and no variable in `.env` does. The store also keeps a digest of the directory's
settings, so that prunecli can ask again when they change.
"""

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from prunecli.safety import project_settings
from prunecli.safety.permissions.places import Unresolvable, lies_in, real_path
from prunecli.safety.project_settings import SETTINGS, down_to, has_settings, is_empty_folder
from prunecli.safety.register import Register
from prunecli.safety.sandbox.git_folders import shared_with
from prunecli.util.errors import ConfigError

_MAX_ENTRIES = 2000
_MAX_BYTES = 32_000_000


class TrustStore:
    """The trusted directories of one user. `path` is the store's file; it need not exist.

    A store that is unreadable or writable by others trusts nothing; `problem` gives the reason.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._register = Register(
            path, "directories", "a trust store", "trust can't be saved; use --trust for this run"
        )

    @property
    def problem(self) -> str:
        return self._register.read()[1]

    def is_trusted(self, directory: Path) -> bool:
        """Return whether this directory was trusted, or is covered by one that was; False if its real path can't be
        resolved."""
        real = self._real(directory)
        return real is not None and (real in self._register.read()[0] or bool(self._covering(real)))

    def changed_since(self, directory: Path) -> bool:
        """Return whether the directory's settings have changed since it was trusted; True if that is unknown."""
        real = self._real(directory)
        if real is None:
            return True
        recorded = self._register.read()[0].get(real)
        return (not recorded or recorded != digest(Path(real))) and not self._covering(real)

    def may_act(self, directory: Path) -> bool:
        """Return whether the directory was trusted with its current settings."""
        return self.is_trusted(directory) and not self.changed_since(directory)

    def changes(self, directory: Path) -> str:
        """Return the changes in the settings since the directory was trusted, as text to show; "" if there are
        none."""
        real = self._real(directory)
        if real is None or not self.is_trusted(directory) or not self.changed_since(directory):
            return ""
        return project_settings.changes(self._settings, Path(real))

    @property
    def _settings(self) -> Path:
        return self.path.with_name(self.path.name + ".settings")

    def trust(self, directory: Path, seen: str | None = None) -> None:
        """Trust a directory with its current settings, or with those of the digest `seen`.

        Raises ConfigError if the store is damaged, is inside the directory, or can't be written.
        """
        real = self._real(directory)
        if real is None or not os.path.isdir(real):
            inside = (
                f"the trust store {self.path} is inside it" if os.path.isdir(directory) else "not a directory"
            )
            raise ConfigError(f"cannot trust {directory}: {inside}", "use --trust for this run")
        with self._register.changing() as directories:
            directories[real] = digest(Path(real)) if seen is None else seen
        project_settings.keep(self._settings, Path(real))

    def follow(self, path: Path, before: bytes | None, after: bytes | None) -> None:
        """Keep directories trusted when the user edits one of their settings.

        If anything else has changed as well, trust is lost as usual. `before` and `after` are the file's bytes, None
        for no file. Raises ConfigError as `trust` does.
        """
        file, folder = os.path.realpath(path), os.path.realpath(path.parent)
        for name, recorded in self._register.read()[0].items():
            if folder not in map(str, down_to(Path(name))):
                continue
            seen = digest(Path(name), {file: after})
            if seen and recorded == digest(Path(name), {file: before}):
                self.trust(Path(name), seen)
        if self._covering(folder, {file: before}) and (seen := digest(path.parent, {file: after})):
            self.trust(path.parent, seen)

    def untrust(self, directory: Path) -> bool:
        """Revoke trust; return whether there was any. Raises ConfigError as `trust` does."""
        names = {str(directory)}
        try:
            names.add(real := real_path(_absolute(directory)))
            names.add(self._covering(real))
        except (Unresolvable, OSError):
            pass  # A deleted directory is still listed under the path by which it was trusted.
        if names.isdisjoint(self._register.read()[0]) and not self.problem:
            return False
        with self._register.changing() as directories:
            known = names & directories.keys()
            for name in known:
                del directories[name]
            return bool(known)

    def _covering(self, real: str, instead: Mapping[str, bytes | None] | None = None) -> str:
        """Return the trusted checkout whose trust covers a directory in it or in one of its worktrees, "" if none
        does. `instead` is as in `digest`."""
        root, *below = down_to(Path(real))
        if any(has_settings(folder, instead or {}) for folder in below) or not os.path.lexists(root / ".git"):
            return ""
        known = self._register.read()[0]
        names = [name for name in (str(root), _main_checkout(str(root))) if known.get(name)]
        settings = digest(root, instead) if names else ""
        return next((name for name in names if name != real and known[name] == settings), "")

    def _real(self, directory: Path) -> str | None:
        """Return the directory's real path; None if it can't be resolved or contains the store itself."""
        try:
            real = real_path(_absolute(directory))
            return None if lies_in(real_path(_absolute(self.path)), real) else real
        except (Unresolvable, OSError):
            return None


def _main_checkout(root: str) -> str:
    """Return the main checkout of the repository whose linked worktree is at `root`, "" if there is none, the
    repository does not list it, or it belongs to another user."""
    main, name = os.path.split(shared_with(root))
    same = name == ".git" and os.stat(main).st_uid == os.stat(root).st_uid
    return main if same else ""


def _absolute(path: Path) -> Path:
    return path if path.is_absolute() else Path.cwd() / path


# The digest of a directory's settings ------------------------------------------------------------------------


def digest(directory: Path, instead: Mapping[str, bytes | None] | None = None) -> str:
    """Return the hexadecimal sha256 of the `SETTINGS` of a directory and of its repository's folders above it.

    `instead` maps the real path of a file to the bytes to use in place of its content, None for no file.

    The digest is empty if something is unreadable, not a regular file, or too large (2,000 files, 32 MB). An empty
    digest never matches, so the directory counts as changed.
    """
    reading = _Digest(instead or {})
    try:
        for folder in reversed(down_to(directory)):
            for name in SETTINGS:
                path = str(folder / name)
                if reading.is_there(path):  # so that a name that a later version adds asks nobody again
                    reading.add(path, os.path.relpath(path, directory))
    except (OSError, ValueError, RecursionError):
        return ""
    return reading.hash.hexdigest()


class _Digest:
    """A digest of names and contents, each preceded by its length, so that no two trees give the same bytes."""

    def __init__(self, instead: Mapping[str, bytes | None]) -> None:
        self.instead = instead
        self.hash = hashlib.sha256()
        self.entries = 0
        self.bytes = 0
        self.open: list[tuple[int, int]] = []

    def is_there(self, path: str) -> bool:
        if self.instead and (real := os.path.realpath(path)) in self.instead:
            return self.instead[real] is not None
        return os.path.lexists(path) and not is_empty_folder(path)

    def add(self, path: str, name: str) -> None:
        self.entries += 1
        if self.entries > _MAX_ENTRIES:
            raise ValueError
        self._field(os.fsencode(name))
        if self.instead and (real := os.path.realpath(path)) in self.instead:
            self._content(self.instead[real])
            return
        if not os.path.lexists(path) or is_empty_folder(path):
            self._content(None)
            return
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            self._folder(path, (status.st_dev, status.st_ino))
        elif stat.S_ISREG(status.st_mode):
            self._file(path, status.st_size)
        else:
            raise ValueError

    def _folder(self, path: str, identity: tuple[int, int]) -> None:
        if identity in self.open:
            raise ValueError
        self.open.append(identity)
        names = sorted(os.listdir(path))
        self._field(b"folder %d" % len(names))
        for name in names:
            self.add(os.path.join(path, name), name)
        self.open.pop()

    def _file(self, path: str, size: int) -> None:
        self.bytes += size
        if self.bytes > _MAX_BYTES:
            raise ValueError
        with open(path, "rb") as file:
            self._content(file.read(_MAX_BYTES + 1))

    def _content(self, data: bytes | None) -> None:
        if data is None:
            self._field(b"absent")
            return
        self._field(b"file")
        self._field(data)

    def _field(self, data: bytes) -> None:
        self.hash.update(b"%d:" % len(data) + data)
