"""The trust store: a file in the user's configuration folder that lists trusted directories by real path.

Trust covers one directory, not those below it. Nothing inside the directory can grant it: no `.git` file, no
worktree, no variable in `.env`. The store also keeps a digest of the directory's settings, so that prunecli can ask
again when they change.
"""

import fcntl
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prunecli.agent import project_settings
from prunecli.agent.permissions.places import Unresolvable, lies_in, real_path
from prunecli.agent.project_settings import SETTINGS, down_to
from prunecli.errors import ConfigError

_MAX_STORE = 4_000_000
_MAX_ENTRIES = 2000
_MAX_BYTES = 32_000_000


class TrustStore:
    """The trusted directories of one user. `path` is the store's file; it need not exist.

    A store that is unreadable, or writable by others, trusts nothing; `problem` says why.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def problem(self) -> str:
        """The problem with the file, or ""."""
        return self._read()[1]

    def is_trusted(self, directory: Path) -> bool:
        """Whether this directory was trusted; False if its real path can't be resolved."""
        real = self._real(directory)
        return real is not None and real in self._read()[0]

    def changed_since(self, directory: Path) -> bool:
        """Whether the directory's settings have changed since it was trusted; True if that is unknown."""
        real = self._real(directory)
        if real is None or real not in self._read()[0]:
            return True
        recorded = self._read()[0][real]
        return not recorded or recorded != digest(Path(real))

    def may_act(self, directory: Path) -> bool:
        """Whether the directory was trusted, with the settings it has now."""
        return self.is_trusted(directory) and not self.changed_since(directory)

    def changes(self, directory: Path) -> str:
        """What changed in the settings since the directory was trusted, as a text to show; "" if nothing did."""
        real = self._real(directory)
        if real is None or not self.is_trusted(directory) or not self.changed_since(directory):
            return ""
        return project_settings.changes(self._settings, Path(real))

    @property
    def _settings(self) -> Path:
        """The folder of the settings as they were when they were trusted."""
        return self.path.with_name(self.path.name + ".settings")

    def trust(self, directory: Path, seen: str | None = None) -> None:
        """Trust a directory with its current settings, or with those of the digest `seen`.

        Raises ConfigError if the store is damaged, lies in the directory, or can't be written.
        """
        real = self._real(directory)
        if real is None or not os.path.isdir(real):
            raise ConfigError(
                f"cannot trust {directory}: not a directory, or the trust store {self.path} lies in it",
                "use --trust for this run",
            )
        with self._changing() as directories:
            directories[real] = digest(Path(real)) if seen is None else seen
        project_settings.keep(self._settings, Path(real))

    def untrust(self, directory: Path) -> bool:
        """Revoke trust; returns whether there was any. Raises ConfigError as `trust` does."""
        names = {str(directory)}
        try:
            names.add(real_path(_absolute(directory)))
        except (Unresolvable, OSError):
            pass  # A deleted directory is still listed under the path it was trusted by.
        if names.isdisjoint(self._read()[0]) and not self.problem:
            return False
        with self._changing() as directories:
            known = names & directories.keys()
            for name in known:
                del directories[name]
            return bool(known)

    def directories(self) -> tuple[str, ...]:
        """The trusted real paths, sorted."""
        return tuple(sorted(self._read()[0]))

    def _real(self, directory: Path) -> str | None:
        """The directory's real path; None if it can't be resolved or contains the store itself."""
        try:
            real = real_path(_absolute(directory))
            return None if lies_in(real_path(_absolute(self.path)), real) else real
        except (Unresolvable, OSError):
            return None

    def _read(self) -> tuple[dict[str, str], str]:
        """The directories with their digests, and the problem with the file ("" if none)."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return {}, ""
        except OSError as error:
            return {}, f"{self.path}: {error.strerror}"
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return {}, f"{self.path}: must be a file that only you can write"
            data = file.read(_MAX_STORE + 1)
        try:
            directories = _directories_of(data)
        except (ValueError, RecursionError):
            return {}, f"{self.path}: not a trust store"
        return directories, ""

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        """Lock the store and yield its directories; changes are written when the block ends."""
        try:
            os.makedirs(self.path.parent, mode=0o700, exist_ok=True)
            lock = os.open(
                self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                directories, problem = self._read()
                if problem:
                    raise ConfigError(problem, f"remove {self.path}, then run prunecli trust again")
                yield directories
                self._write(directories)
            finally:
                os.close(lock)
        except OSError as error:
            raise ConfigError(
                f"{self.path}: {error.strerror}", "trust can't be saved; use --trust for this run"
            ) from error

    def _write(self, directories: dict[str, str]) -> None:
        content = json.dumps({"version": 1, "directories": directories}, indent=1, sort_keys=True) + "\n"
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with open(descriptor, "w", encoding="ascii") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            os.replace(name, self.path)
        except BaseException:
            os.unlink(name)
            raise


def _absolute(path: Path) -> Path:
    return path if path.is_absolute() else Path.cwd() / path


def _directories_of(data: bytes) -> dict[str, str]:
    """Parse the store. Raises ValueError, RecursionError."""
    if len(data) > _MAX_STORE:
        raise ValueError
    store = json.loads(data.decode("ascii"))
    directories = store.get("directories") if isinstance(store, dict) and store.get("version") == 1 else None
    if not isinstance(directories, dict):
        raise ValueError
    if not all(path.startswith("/") and isinstance(value, str) for path, value in directories.items()):
        raise ValueError
    return directories


# The digest of a directory's settings ------------------------------------------------------------------------


def digest(directory: Path) -> str:
    """The hexadecimal sha256 of the `SETTINGS` of a directory and of its repository's folders above it.

    Empty if something is unreadable, not a regular file, or too large (2,000 files, 32 MB). An empty digest never
    matches, so the directory counts as changed.
    """
    reading = _Digest()
    try:
        for folder in reversed(down_to(directory)):
            for name in SETTINGS:
                path = str(folder / name)
                if folder == directory or os.path.lexists(path):
                    reading.add(path, os.path.relpath(path, directory))
    except (OSError, ValueError, RecursionError):
        return ""
    return reading.hash.hexdigest()


class _Digest:
    """Names and contents, each preceded by its length, so that no two trees give the same bytes."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.entries = 0
        self.bytes = 0
        self.open: list[tuple[int, int]] = []

    def add(self, path: str, name: str) -> None:
        self.entries += 1
        if self.entries > _MAX_ENTRIES:
            raise ValueError
        self._field(os.fsencode(name))
        if not os.path.lexists(path):
            self._field(b"absent")
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
            data = file.read(_MAX_BYTES + 1)
        self._field(b"file")
        self._field(data)

    def _field(self, data: bytes) -> None:
        self.hash.update(b"%d:" % len(data) + data)
